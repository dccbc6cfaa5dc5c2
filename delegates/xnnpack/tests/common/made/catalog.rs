//! A small graph for every kind of node, and for every way to keep numbers.

use super::{node, *};

/// Numbers of some variety for constants.
pub fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i % 7) as f32 * 0.25 - 0.5).collect()
}

/// Scales of some variety.
pub fn scales(count: usize) -> Vec<f32> {
    (0..count).map(|i| 0.01 + i as f32 * 0.003).collect()
}

fn one(kind: Kind) -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[2, 4, 4, 3]);
    let y = made.output(fp32(), &[2, 4, 4, 3]);
    made.node(node::unary(kind, x, y));
    made
}

fn two(kind: Kind) -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[2, 1, 4, 3]);
    let z = made.input(fp32(), &[5, 1, 3]);
    let y = made.output(fp32(), &[2, 5, 4, 3]);
    made.node(node::binary(kind, x, z, y));
    made
}

fn image(input: &[u32], output: &[u32], add: impl FnOnce(u32, u32) -> Node) -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), input);
    let y = made.output(fp32(), output);
    made.node(add(x, y));
    made
}

/// Kinds with one operand and no parameters of their own, which keep the shape.
pub const UNARY: [Kind; 21] = [
    Kind::XNNAbs,
    Kind::XNNCeiling,
    Kind::XNNClamp,
    Kind::XNNConvert,
    Kind::XNNCopy,
    Kind::XNNCos,
    Kind::XNNExp,
    Kind::XNNFloor,
    Kind::XNNGelu,
    Kind::XNNHardswish,
    Kind::XNNLog,
    Kind::XNNNegate,
    Kind::XNNReciprocalSquareRoot,
    Kind::XNNSigmoid,
    Kind::XNNSin,
    Kind::XNNSoftmax,
    Kind::XNNSquare,
    Kind::XNNSquareRoot,
    Kind::XNNTanh,
    Kind::XNNELU,
    Kind::XNNLeakyReLU,
];

/// Kinds with two operands that broadcast.
pub const BINARY: [Kind; 6] =
    [Kind::XNNAdd, Kind::XNNSubtract, Kind::XNNMultiply, Kind::XNNDiv, Kind::XNNMinimum, Kind::XNNMaximum];

/// A graph for each kind that runs.
pub fn kinds() -> Vec<(Kind, Made)> {
    let mut all: Vec<(Kind, Made)> = UNARY.iter().map(|&kind| (kind, one(kind))).collect();
    for (kind, made) in &mut all {
        match *kind {
            Kind::XNNELU => made.nodes = vec![node::elu(0.5, 0, 1)],
            Kind::XNNLeakyReLU => made.nodes = vec![node::leaky_relu(-0.25, 0, 1)],
            Kind::XNNClamp => made.nodes = vec![node::unary(Kind::XNNClamp, 0, 1).clamped(-0.5, 0.75)],
            _ => {}
        }
    }
    all.extend(BINARY.iter().map(|&kind| (kind, two(kind))));
    all.extend(others());
    all
}

fn others() -> Vec<(Kind, Made)> {
    let pooled =
        |kind| image(&[2, 6, 6, 3], &[2, 3, 3, 3], |x, y| node::pool(kind, node::Pool::new(2), x, y));
    let mut argmax = Made::new();
    let x = argmax.input(fp32(), &[1, 4, 6, 2]);
    let y = argmax.output(fp32(), &[1, 2, 2, 2]);
    let places = argmax.output(fp32(), &[1, 2, 2, 2]);
    argmax.node(node::argmax_pool(node::Pool { window: [2, 3], ..node::Pool::new(2) }, x, y, places));
    let mut prelu = Made::new();
    let x = prelu.input(fp32(), &[1, 4, 5, 3]);
    let slope = prelu.constant(fp32(), &[3], &numbers(3));
    let y = prelu.output(fp32(), &[1, 4, 5, 3]);
    prelu.node(node::binary(Kind::XNNPReLU, x, slope, y));
    let mut product = Made::new();
    let a = product.input(fp32(), &[2, 3, 4]);
    let b = product.input(fp32(), &[2, 4, 5]);
    let y = product.output(fp32(), &[2, 3, 5]);
    product.node(node::binary(Kind::XNNBatchMatrixMultiply, a, b, y));
    let mut all = vec![
        (Kind::XNNAvgPooling2d, pooled(Kind::XNNAvgPooling2d)),
        (Kind::XNNMaxPooling2d, pooled(Kind::XNNMaxPooling2d)),
        (Kind::XNNArgMaxPooling2d, argmax),
        (Kind::XNNPReLU, prelu),
        (Kind::XNNBatchMatrixMultiply, product),
        (Kind::XNNFullyConnected, linear()),
        (Kind::XNNConv2d, convolution()),
        (Kind::XNNDepthwiseConv2d, depthwise()),
        (Kind::XNNConvTranspose2d, transposed()),
    ];
    let global = |x, y| node::unary_with(Kind::XNNGlobalAvgPooling2d, x, y, 0x40);
    all.push((Kind::XNNGlobalAvgPooling2d, image(&[2, 4, 5, 3], &[2, 1, 1, 3], global)));
    let transpose = |x, y| node::transpose(&[2, 0, 1], x, y);
    all.push((Kind::XNNStaticTranspose, image(&[2, 3, 4], &[4, 2, 3], transpose)));
    let resize = |x, y| node::resize(7, 2, 8, x, y);
    all.push((Kind::XNNStaticResizeBilinear2D, image(&[2, 4, 5, 3], &[2, 7, 2, 3], resize)));
    let pad = |x, y| node::pad(&[0, 1, 2], &[1, 0, 3], 1.5, x, y);
    all.push((Kind::XNNStaticConstantPad, image(&[2, 3, 4], &[3, 4, 9], pad)));
    let reshape = |x, y| node::reshape(&[3, 0, 2], x, y);
    all.push((Kind::XNNStaticReshape, image(&[2, 3, 4], &[3, 4, 2], reshape)));
    let slice = |x, y| node::slice(&[0, 1, 0], &[1, 2, 0], x, y);
    all.push((Kind::XNNStaticSlice, image(&[2, 3, 4], &[1, 2, 4], slice)));
    let joined = [Kind::XNNConcatenate2, Kind::XNNConcatenate3, Kind::XNNConcatenate4, Kind::XNNConcatenate5];
    for (kind, count) in joined.into_iter().zip(2..) {
        let mut made = Made::new();
        let inputs: Vec<u32> = (0..count).map(|i| made.input(fp32(), &[2, i + 1, 3])).collect();
        let y = made.output(fp32(), &[2, count * (count + 1) / 2, 3]);
        made.node(node::concatenate(1, &inputs, y));
        all.push((kind, made));
    }
    all
}

/// A fully connected layer with a bias.
pub fn linear() -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[2, 3]);
    let w = made.constant(fp32(), &[4, 3], &numbers(12));
    let b = made.constant(fp32(), &[4], &numbers(4));
    let y = made.output(fp32(), &[2, 4]);
    made.node(node::fully_connected(x, w, Some(b), y).clamped(0.0, f32::INFINITY));
    made
}

/// A convolution of two groups.
pub fn convolution() -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[1, 5, 6, 4]);
    let w = made.constant(fp32(), &[6, 3, 2, 2], &numbers(72));
    let b = made.constant(fp32(), &[6], &numbers(6));
    let y = made.output(fp32(), &[1, 3, 6, 6]);
    let parameters = node::Conv {
        padding: [1, 1, 1, 0],
        kernel: [3, 2],
        stride: [2, 1],
        groups: 2,
        ..node::Conv::new(3, 2, 3)
    };
    made.node(node::conv(Kind::XNNConv2d, parameters, x, w, Some(b), y));
    made
}

/// A depthwise convolution with a multiplier of 2.
pub fn depthwise() -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[1, 5, 5, 3]);
    let w = made.constant(fp32(), &[1, 3, 3, 6], &numbers(54));
    let y = made.output(fp32(), &[1, 5, 5, 6]);
    let parameters = node::Conv { padding: [1; 4], groups: 3, ..node::Conv::new(3, 1, 2) };
    made.node(node::conv(Kind::XNNDepthwiseConv2d, parameters, x, w, None, y));
    made
}

/// A transposed convolution with an adjustment.
pub fn transposed() -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[1, 3, 3, 2]);
    let w = made.constant(fp32(), &[4, 3, 3, 2], &numbers(72));
    let y = made.output(fp32(), &[1, 6, 5, 4]);
    let parameters =
        node::Conv { padding: [1; 4], stride: [2, 2], adjustment: [1, 0], ..node::Conv::new(3, 2, 4) };
    made.node(node::conv(Kind::XNNConvTranspose2d, parameters, x, w, None, y));
    made
}

/// Graphs whose numbers are kept in every way that there is.
pub fn representations() -> Vec<(&'static str, Made)> {
    let mut dynamic = Made::new();
    let x = dynamic.input(fp32(), &[2, 3]);
    let q = dynamic.internal(qdint8(), &[2, 3]);
    let w = dynamic.constant_bytes(per_channel(Datatype::QCINT4, &scales(4), 0), &[4, 3], &[0x87; 8]);
    let b = dynamic.constant(fp32(), &[4], &numbers(4));
    let y = dynamic.output(fp32(), &[2, 4]);
    dynamic.node(node::unary(Kind::XNNConvert, x, q)).node(node::fully_connected(q, w, Some(b), y));
    let mut all = vec![
        ("inline", Made { identifier: *b"XN00", header: false, storage: Storage::Inline, ..linear() }),
        ("region", Made { storage: Storage::Region, ..convolution() }),
        ("marked for dynamic quantisation", marked()),
        ("static qint8", static_qint8()),
        ("qcint4 of odd rows", dynamic),
        ("qbint4, float32 scales", grouped(per_group(&scales(8), 32))),
    ];
    let mut outside = grouped(per_group(&[], 32));
    let bits =
        scales(8).iter().flat_map(|scale| ((scale.to_bits() >> 16) as u16).to_le_bytes()).collect::<Vec<_>>();
    let index = outside.entry(&bits);
    outside.values[2].quant = Some(Quant::Group { scales: vec![], dim: 0, size: 32, index, count: 8 });
    all.push(("qbint4, bfloat16 scales", outside));
    for (name, datatype) in [("fp16", Datatype::FP16), ("bf16", Datatype::BF16)] {
        let mut made = Made::new();
        let x = made.input(plain(datatype), &[2, 3]);
        let w = made.constant_bytes(plain(datatype), &[4, 3], &[0x3c; 24]);
        let y = made.output(plain(datatype), &[2, 4]);
        made.node(node::fully_connected(x, w, None, y));
        all.push((name, made));
    }
    all
}

/// What old exporters wrote: a layer whose input is quantised dynamically without a node for it.
pub fn marked() -> Made {
    let mut made = Made::old();
    let x = made.input(fp32(), &[2, 3]);
    made.values[x as usize].dynamic = Datatype::QINT8;
    let w = made.constant_bytes(per_channel(Datatype::QCINT8, &scales(4), 0), &[4, 3], &[7; 12]);
    let b = made.constant(fp32(), &[4], &numbers(4));
    let y = made.output(fp32(), &[2, 4]);
    made.node(node::fully_connected(x, w, Some(b), y));
    made
}

/// A convolution between conversions, with scales outside.
pub fn static_qint8() -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[1, 4, 4, 2]);
    let qx = made.internal(qint8(0.05, -3), &[1, 4, 4, 2]);
    let index = made.entry(&scales(3).iter().flat_map(|scale| scale.to_le_bytes()).collect::<Vec<_>>());
    let outside = |datatype| (datatype, Some(Quant::Channel { scales: vec![], dim: 0, index, count: 3 }));
    let w = made.constant_bytes(outside(Datatype::QCINT8), &[3, 3, 3, 2], &[5; 54]);
    let b = made.constant_bytes(outside(Datatype::QCINT32), &[3], &[1; 12]);
    let qy = made.internal(qint8(0.1, 7), &[1, 2, 2, 3]);
    let y = made.output(fp32(), &[1, 2, 2, 3]);
    made.node(node::unary(Kind::XNNConvert, x, qx));
    made.node(node::conv(Kind::XNNConv2d, node::Conv::new(3, 2, 3), qx, w, Some(b), qy));
    made.node(node::unary(Kind::XNNConvert, qy, y));
    made
}

fn grouped(weight: (Datatype, Option<Quant>)) -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[2, 64]);
    let q = made.internal(qdint8(), &[2, 64]);
    let w = made.constant_bytes(weight, &[4, 64], &[0x79; 128]);
    let y = made.output(fp32(), &[2, 4]);
    made.node(node::unary(Kind::XNNConvert, x, q)).node(node::fully_connected(q, w, None, y));
    made
}
