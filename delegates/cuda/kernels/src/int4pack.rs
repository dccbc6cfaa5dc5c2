//! The product with 4-bit weights in PyTorch's layout for tensor cores.

use crate::code::launch;
use crate::error::{Error, Result, aligned, narrow};
use executorch_cuda_driver::{Argument, Device, Launch, StreamRef};
use std::ffi::{CStr, c_void};

/// Operands of [`int4pack_mm`], all on the stream's device.
#[derive(Debug, Clone, Copy)]
pub struct Int4Pack {
    /// bfloat16 `[m][k]`; 4-byte aligned.
    pub activations: *const c_void,
    /// int32 `[n / 8][k / (16 inner)][32][inner / 2]`, as `_convert_weight_to_int4pack` makes it;
    /// 16-byte aligned.
    pub weights: *const c_void,
    /// bfloat16 `[k / group][n][2]`: scale and zero point; 4-byte aligned.
    pub scales: *const c_void,
    /// bfloat16 `[m][n]`.
    pub out: *mut c_void,
    /// Rows of activations.
    pub m: u64,
    /// Columns of the result; a multiple of 8.
    pub n: u64,
    /// Depth; a multiple of 16 `inner` and of `group`.
    pub k: u64,
    /// Weights with one scale: 32, 64, 128 or 256.
    pub group: u64,
    /// Tiles of depth 16 that lie together: 2, 4 or 8.
    pub inner: u64,
}

/// What the kernel gets, in its layout.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
    activations: *const c_void,
    weights: *const c_void,
    scales: *const c_void,
    out: *mut c_void,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
}

/// `out = activations * dequantised(weights)^T`, where a weight is `(nibble - 8) * scale + zero`, rounded to bfloat16; products are
/// added in float32, in another order than a CPU would, and the sum is rounded to bfloat16.
///
/// # Safety
/// The addresses hold what [`Int4Pack`] says, until the stream has done the work.
pub unsafe fn int4pack_mm(stream: StreamRef, device: Device, call: &Int4Pack) -> Result<()> {
    let kernels: [&'static CStr; 2] = match call.inner {
        2 => [c"int4pack_2_few", c"int4pack_2_many"],
        4 => [c"int4pack_4_few", c"int4pack_4_many"],
        8 => [c"int4pack_8_few", c"int4pack_8_many"],
        inner => return Err(Error::Unsupported(format!("{inner} inner tiles, expected 2, 4 or 8"))),
    };
    if ![32, 64, 128, 256].contains(&call.group) {
        return Err(Error::Unsupported(format!(
            "a group of {} weights, expected 32, 64, 128 or 256",
            call.group
        )));
    }
    if !(call.n.is_multiple_of(8)
        && call.k.is_multiple_of(16 * call.inner)
        && call.k.is_multiple_of(call.group))
    {
        return Err(Error::Unsupported(format!(
            "a product of {} columns and depth {}, expected multiples of 8, and of {} and the group of {}",
            call.n,
            call.k,
            16 * call.inner,
            call.group
        )));
    }
    aligned(call.activations, 4, "the activations")?;
    // A lane loads what it has of the tiles that lie together at once. (The number of tiles was checked above.)
    aligned(call.weights, usize::try_from(2 * call.inner).unwrap_or(16), "the weights")?;
    aligned(call.scales, 4, "the scales and zero points")?;
    let arguments = Arguments {
        activations: call.activations,
        weights: call.weights,
        scales: call.scales,
        out: call.out,
        m: narrow(call.m, "the number of rows")?,
        n: narrow(call.n, "the number of columns")?,
        k: narrow(call.k, "the depth")?,
        group: narrow(call.group, "the group")?,
    };
    // Up to 16 rows are one tile of the tensor cores; of more, blocks take four, to make use of each weight four times.
    let [few, many] = kernels;
    let (kernel, rows) = if call.m <= 16 { (few, 16) } else { (many, 64) };
    // Grids are limited to 65535 in the second dimension: more rows than any model has.
    let grid =
        Launch { grid: [arguments.n / 8, arguments.m.div_ceil(rows), 1], block: [32, 8, 1], shared: 0 };
    // SAFETY: the argument is the kernel's; the rest is promised by the caller.
    unsafe { launch(stream, device, kernel, grid, &[Argument::new(&arguments)]) }
}
