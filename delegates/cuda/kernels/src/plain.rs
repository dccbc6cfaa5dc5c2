//! Products with weights of 4, 5, 6 and 8 bits that lie row by row.

use crate::code::launch;
use crate::error::{Error, Result, aligned, narrow};
use crate::scratch::Scratch;
use executorch_cuda_driver::{Argument, Device, Launch, StreamRef};
use std::ffi::{CStr, c_void};

/// Columns of the result that a block computes, a warp for each.
const COLUMNS: u32 = 4;
/// Weights that lie together; activations are quantised in the same portions.
const CHUNK: u64 = 32;

/// Weights `[n][k]`, on the stream's device; data and low bits 16-byte aligned, high bits 8-byte. Codes are one for each group; steps are float16, one for each 256
/// weights: a group's scale is its code times the step, and its zero point likewise.
#[derive(Debug, Clone, Copy)]
pub enum Weights {
    /// 0 to 15.
    Int4 {
        /// uint8 `[n][k / 2]`, the even element in the low nibble.
        data: *const c_void,
        /// uint8 codes.
        scale: *const c_void,
        /// Steps.
        scale_step: *const c_void,
        /// uint8 codes.
        zero: *const c_void,
        /// Steps.
        zero_step: *const c_void,
    },
    /// 0 to 31.
    Int5 {
        /// uint8 `[n][k / 2]`: low nibbles as those of `Int4`.
        low: *const c_void,
        /// uint8 `[n][k / 8]`: a byte for 8 weights, the fifth bits of the even ones in the low nibble, of the odd ones in the high.
        high: *const c_void,
        /// uint8 codes.
        scale: *const c_void,
        /// Steps.
        scale_step: *const c_void,
        /// uint8 codes.
        zero: *const c_void,
        /// Steps.
        zero_step: *const c_void,
    },
    /// 0 to 63, where 32 is zero.
    Int6 {
        /// uint8 `[n][k / 2]`: low nibbles as those of `Int4`.
        low: *const c_void,
        /// uint8 `[n][k / 4]`: 8 bytes for 32 weights, a byte for the upper two bits of the even ones of 8 weights, four times, and
        /// then of the odd ones.
        high: *const c_void,
        /// int8 codes.
        scale: *const c_void,
        /// Steps.
        scale_step: *const c_void,
    },
    /// -128 to 127.
    Int8 {
        /// int8 `[n][k]`.
        data: *const c_void,
        /// bfloat16, one for each group: no code.
        scale: *const c_void,
        /// int8, one for each group: no code.
        zero: *const c_void,
    },
}

/// Operands of [`plain_mm`].
#[derive(Debug, Clone, Copy)]
pub struct Plain {
    /// bfloat16 `[m][k]`.
    pub activations: *const c_void,
    /// The weights.
    pub weights: Weights,
    /// bfloat16 `[m][n]`.
    pub out: *mut c_void,
    /// Rows of activations; few, as in decoding.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Depth: a multiple of 256, of 32 for 8 bits, and of the group.
    pub k: u64,
    /// Weights with one scale: a power of two, 8 at least.
    pub group: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Int4 {
    data: *const c_void,
    scale: *const c_void,
    zero: *const c_void,
    steps: [*const c_void; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Int5 {
    low: Int4,
    high: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Int6 {
    low: *const c_void,
    high: *const c_void,
    scale: *const c_void,
    step: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Int8 {
    data: *const c_void,
    scale: *const c_void,
    zero: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Sizes {
    n: u32,
    k: u32,
    group_bits: u32,
    m: u32,
}

/// `out = activations * dequantised(weights)^T`, where a weight is `(q - zero) * scale`. Activations are quantised first, 32 at a
/// time, to 8 bits by their largest magnitude; the products of a group are exact integers, everything else is float32, and the
/// sum is rounded to bfloat16.
///
/// # Safety
/// The addresses hold what [`Plain`] and [`Weights`] say, until the stream has done the work.
pub unsafe fn plain_mm(stream: StreamRef, device: Device, call: &Plain) -> Result<()> {
    let sizes = check(call)?;
    if sizes.m == 0 || sizes.n == 0 {
        return Ok(());
    }
    let even_first = !matches!(call.weights, Weights::Int8 { .. });
    let chunks = u64::from(sizes.m) * u64::from(sizes.k) / CHUNK;
    let quantised = Scratch::new::<i8>(stream, chunks * CHUNK)?;
    let scales = Scratch::new::<f32>(stream, chunks)?;
    let scratch = [quantised.address(), scales.address()];
    // SAFETY: the arguments are the kernels', and scratch is as large as they write; the rest is promised by the caller.
    unsafe {
        quantise(stream, device, call, chunks, even_first, scratch)?;
        multiply(stream, device, call, sizes, scratch)
    }
}

/// # Safety
/// As [`plain_mm`], with scratch memory for the quantised activations and their scales.
unsafe fn quantise(
    stream: StreamRef,
    device: Device,
    call: &Plain,
    chunks: u64,
    even_first: bool,
    [quantised, scales]: [*mut c_void; 2],
) -> Result<()> {
    let even_first = i32::from(even_first);
    let arguments = [
        Argument::new(&call.activations),
        Argument::new(&quantised),
        Argument::new(&scales),
        Argument::new(&chunks),
        Argument::new(&even_first),
    ];
    let blocks = narrow(chunks.div_ceil(u64::from(COLUMNS)), "the number of activations")?;
    let grid = Launch { grid: [blocks, 1, 1], block: [32, COLUMNS, 1], shared: 0 };
    // SAFETY: promised by the caller.
    unsafe { launch(stream, device, c"quantize_activations", grid, &arguments) }
}

/// # Safety
/// As [`quantise`], whose results are in the scratch memory.
unsafe fn multiply(
    stream: StreamRef,
    device: Device,
    call: &Plain,
    sizes: Sizes,
    [quantised, scales]: [*mut c_void; 2],
) -> Result<()> {
    // A weight is loaded once for this many rows.
    let (rows, variant) = match sizes.m {
        1 => (1, 0),
        2 => (2, 1),
        _ => (4, 2),
    };
    let grid = Launch {
        grid: [sizes.n.div_ceil(COLUMNS), sizes.m.div_ceil(rows), 1],
        block: [32, COLUMNS, 1],
        shared: 0,
    };
    let run = |names: [&'static CStr; 3], weights: Argument<'_>| {
        let arguments = [
            weights,
            Argument::new(&quantised),
            Argument::new(&scales),
            Argument::new(&call.out),
            Argument::new(&sizes),
        ];
        let name = names.get(variant).copied().unwrap_or_default();
        // SAFETY: promised by the caller.
        unsafe { launch(stream, device, name, grid, &arguments) }
    };
    match call.weights {
        Weights::Int4 { data, scale, scale_step, zero, zero_step } => {
            let weights = Int4 { data, scale, zero, steps: [scale_step, zero_step] };
            run([c"int4_plain_1", c"int4_plain_2", c"int4_plain_4"], Argument::new(&weights))
        }
        Weights::Int5 { low, high, scale, scale_step, zero, zero_step } => {
            let low = Int4 { data: low, scale, zero, steps: [scale_step, zero_step] };
            run([c"int5_plain_1", c"int5_plain_2", c"int5_plain_4"], Argument::new(&Int5 { low, high }))
        }
        Weights::Int6 { low, high, scale, scale_step } => {
            let weights = Int6 { low, high, scale, step: scale_step };
            run([c"int6_plain_1", c"int6_plain_2", c"int6_plain_4"], Argument::new(&weights))
        }
        Weights::Int8 { data, scale, zero } => {
            let weights = Int8 { data, scale, zero };
            run([c"int8_plain_1", c"int8_plain_2", c"int8_plain_4"], Argument::new(&weights))
        }
    }
}

fn check(call: &Plain) -> Result<Sizes> {
    let unit = if matches!(call.weights, Weights::Int8 { .. }) { CHUNK } else { 256 };
    if !call.k.is_multiple_of(unit) || call.k == 0 {
        return Err(Error::Unsupported(format!("depth {}, expected a multiple of {unit}", call.k)));
    }
    if call.group < 8 || !call.group.is_power_of_two() || !call.k.is_multiple_of(call.group) {
        return Err(Error::Unsupported(format!(
            "a group of {} weights in a depth of {}, expected a power of two, 8 at least, that divides it",
            call.group, call.k
        )));
    }
    match call.weights {
        Weights::Int4 { data, .. } | Weights::Int8 { data, .. } => aligned(data, 16, "the weights")?,
        Weights::Int5 { low, high, .. } | Weights::Int6 { low, high, .. } => {
            aligned(low, 16, "the weights' low bits")?;
            aligned(high, 8, "the weights' high bits")?;
        }
    }
    Ok(Sizes {
        n: narrow(call.n, "the number of columns")?,
        k: narrow(call.k, "the depth")?,
        group_bits: call.group.ilog2(),
        m: narrow(call.m, "the number of rows")?,
    })
}
