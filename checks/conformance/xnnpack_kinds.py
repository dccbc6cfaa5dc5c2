"""The kinds of XNNPACK nodes, by their numbers in a payload's schema."""

KINDS = dict(
    enumerate(
        """Add FullyConnected Softmax Sigmoid StaticTranspose Clamp Conv2d Div StaticResizeBilinear2D StaticConstantPad
        AvgPooling2d Minimum DepthwiseConv2d MaxPooling2d Multiply Subtract Floor Convert GlobalAvgPooling2d StaticReshape
        ArgMaxPooling2d SquareRoot Ceiling Hardswish LeakyReLU Maximum Negate Square ELU Abs PReLU Concatenate2 Concatenate3
        Concatenate4 StaticSlice ScaledDotProductAttention BatchMatrixMultiply Concatenate5 ConvTranspose2d
        ReciprocalSquareRoot Log Gelu Tanh Exp Sin Copy Cos""".split(),
        start=1,
    )
)
