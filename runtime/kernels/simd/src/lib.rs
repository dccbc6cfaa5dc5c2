//! Vectorised element-wise mathematics and reductions over plain slices.
