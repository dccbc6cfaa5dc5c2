//! The kernels' sources. They are part of this crate, so that a change makes another container.

/// The program, which includes the others.
pub const PROGRAM: (&str, &str) = ("kernels.cu", include_str!("../../cu/kernels.cu"));

/// What the program includes, by the names that it includes them with.
pub const INCLUDED: [(&str, &str); 6] = [
    ("common.cuh", include_str!("../../cu/common.cuh")),
    ("device.cuh", include_str!("../../cu/device.cuh")),
    ("int4pack.cu", include_str!("../../cu/int4pack.cu")),
    ("plain.cu", include_str!("../../cu/plain.cu")),
    ("random.cu", include_str!("../../cu/random.cu")),
    ("sort.cu", include_str!("../../cu/sort.cu")),
];
