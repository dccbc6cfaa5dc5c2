//! Products with quantised weights. All operands lie contiguously on one device; the activations are bfloat16 `[m, k]`, and so
//! is the result, `[m, n]`, a new tensor.

use crate::boundary::{call, give, invalid, place, tensor};
use crate::operand::{device, empty, launch, matrix, operand, size};
use crate::tensor::Tensor;
use executorch_abi::error::et_error_t;
use executorch_abi::{Dtype, Result};
use executorch_cuda_driver::Device;
use executorch_cuda_kernels::{Int4Pack, Plain, Weights, int4pack_mm, plain_mm};
use std::ffi::c_void;

/// The product with weights in PyTorch's layout for tensor cores: `mat2` is int32 `[n / 8, k / (16 inner), 32, inner / 2]`,
/// `scales` bfloat16 `[k / group, n, 2]` with scales and zero points.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda__weight_int4pack_mm(
    activations: *mut Tensor,
    mat2: *mut Tensor,
    group_size: i64,
    scales: *mut Tensor,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda__weight_int4pack_mm", || {
        place(out)?;
        // SAFETY: the module's contract.
        let [activations, mat2, scales] = unsafe {
            [tensor(activations, "self")?, tensor(mat2, "mat2")?, tensor(scales, "qScaleAndZeros")?]
        };
        let device = device(activations, "self")?;
        let [m, k] = matrix(activations, "self")?;
        let &[blocks, outer, 32, half] = mat2.layout().sizes() else {
            let found = mat2.layout().sizes();
            return Err(invalid(format!(
                "`mat2` has sizes {found:?}, expected [n / 8, k / (16 inner), 32, inner / 2]"
            )));
        };
        let [blocks, outer, half] = [size(blocks, "mat2")?, size(outer, "mat2")?, size(half, "mat2")?];
        if ![1, 2, 4].contains(&half) || outer.checked_mul(32 * half) != Some(k) {
            return Err(invalid(format!(
                "`mat2` has sizes {:?}, which are no weights for a depth of {k}",
                mat2.layout().sizes()
            )));
        }
        let n = blocks.saturating_mul(8);
        let group = size(group_size, "qGroupSize")?;
        if group == 0 {
            return Err(invalid("`qGroupSize` is 0"));
        }
        let result = new_result(device, m, n)?;
        let product = Int4Pack {
            activations: operand(activations, "self", device, Dtype::BFloat16, &[m, k])?,
            weights: operand(mat2, "mat2", device, Dtype::Int32, &[blocks, outer, 32, half])?,
            scales: operand(scales, "qScaleAndZeros", device, Dtype::BFloat16, &[k / group, n, 2])?,
            out: result.data(),
            m,
            n,
            k,
            group,
            inner: 2 * half,
        };
        // SAFETY: all operands are as large as their sizes, which were checked; the rest is the module's contract.
        launch(device, |stream| unsafe { int4pack_mm(stream, device, &product) })?;
        // SAFETY: the module's contract.
        unsafe { give(out, result) }
    })
}

fn new_result(device: Device, m: u64, n: u64) -> Result<Tensor> {
    let size = |number: u64| i64::try_from(number).map_err(|_| invalid(format!("{number} is no size")));
    empty(device, Dtype::BFloat16, &[size(m)?, size(n)?])
}

/// The weights of a product, and what is known of them before they are looked at.
struct Operands<'a> {
    activations: &'a Tensor,
    device: Device,
    m: u64,
    n: u64,
    k: u64,
    group: u64,
}

impl<'a> Operands<'a> {
    /// Reads the sizes; `first` has as many rows as there are columns in the result.
    ///
    /// # Safety
    /// The handles are null or alive.
    unsafe fn new(activations: *mut Tensor, first: *mut Tensor, group_size: i64) -> Result<Self> {
        // SAFETY: promised by the caller.
        let (activations, first) = unsafe { (tensor(activations, "self")?, tensor(first, "qdata")?) };
        let ([m, k], [n, _]) = (matrix(activations, "self")?, matrix(first, "qdata")?);
        let group = size(group_size, "group_size")?;
        if group == 0 || !k.is_multiple_of(group) {
            return Err(invalid(format!(
                "`group_size` is {group_size}, expected a divisor of the depth {k}"
            )));
        }
        Ok(Self { activations, device: device(activations, "self")?, m, n, k, group })
    }

    /// An operand with a row for each column of the result, and a number for each `share` of the depth.
    ///
    /// # Safety
    /// The handle is null or alive.
    unsafe fn rows(
        &self,
        handle: *mut Tensor,
        name: &str,
        dtype: Dtype,
        share: u64,
    ) -> Result<*const c_void> {
        // SAFETY: promised by the caller.
        let tensor = unsafe { tensor(handle, name) }?;
        Ok(operand(tensor, name, self.device, dtype, &[self.n, self.k / share])?.cast_const())
    }

    /// # Safety
    /// As [`Self::rows`].
    unsafe fn steps(&self, handle: *mut Tensor, name: &str) -> Result<*const c_void> {
        // SAFETY: promised by the caller.
        unsafe { self.rows(handle, name, Dtype::Float16, 256) }
    }

    /// Computes the product.
    ///
    /// # Safety
    /// The weights are as large as [`Self::rows`] has checked; `out` may be written.
    unsafe fn multiply(&self, weights: Weights, out: *mut *mut Tensor) -> Result<()> {
        let Self { activations, device, m, n, k, group } = *self;
        let result = new_result(device, m, n)?;
        let activations = operand(activations, "self", device, Dtype::BFloat16, &[m, k])?;
        let product = Plain { activations, weights, out: result.data(), m, n, k, group };
        // SAFETY: promised by the caller, and by the sizes that were checked.
        launch(device, |stream| unsafe { plain_mm(stream, device, &product) })?;
        // SAFETY: promised by the caller.
        unsafe { give(out, result) }
    }
}

/// The product with weights of 4 bits: `qdata` uint8 `[n, k / 2]`, codes uint8 `[n, k / group]`, steps float16 `[n, k / 256]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_int4_plain_mm(
    activations: *mut Tensor,
    qdata: *mut Tensor,
    scale: *mut Tensor,
    scale_step: *mut Tensor,
    zero: *mut Tensor,
    zero_point_step: *mut Tensor,
    group_size: i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda_int4_plain_mm", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe {
            let all = Operands::new(activations, qdata, group_size)?;
            let weights = Weights::Int4 {
                data: all.rows(qdata, "qdata", Dtype::UInt8, 2)?,
                scale: all.rows(scale, "scale", Dtype::UInt8, all.group)?,
                scale_step: all.steps(scale_step, "scale_step")?,
                zero: all.rows(zero, "zero", Dtype::UInt8, all.group)?,
                zero_step: all.steps(zero_point_step, "zero_point_step")?,
            };
            all.multiply(weights, out)
        }
    })
}

/// The product with weights of 5 bits: as with 4 bits, the fifth ones in `qh`, uint8 `[n, k / 8]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_int5_plain_mm(
    activations: *mut Tensor,
    ql: *mut Tensor,
    qh: *mut Tensor,
    scale: *mut Tensor,
    scale_step: *mut Tensor,
    zero: *mut Tensor,
    zero_point_step: *mut Tensor,
    group_size: i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda_int5_plain_mm", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe {
            let all = Operands::new(activations, ql, group_size)?;
            let weights = Weights::Int5 {
                low: all.rows(ql, "ql", Dtype::UInt8, 2)?,
                high: all.rows(qh, "qh", Dtype::UInt8, 8)?,
                scale: all.rows(scale, "scale", Dtype::UInt8, all.group)?,
                scale_step: all.steps(scale_step, "scale_step")?,
                zero: all.rows(zero, "zero", Dtype::UInt8, all.group)?,
                zero_step: all.steps(zero_point_step, "zero_point_step")?,
            };
            all.multiply(weights, out)
        }
    })
}

/// The product with weights of 6 bits: low ones as with 4 bits, upper ones in `qh`, uint8 `[n, k / 4]`; codes int8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_int6_plain_mm(
    activations: *mut Tensor,
    ql: *mut Tensor,
    qh: *mut Tensor,
    scale: *mut Tensor,
    steps: *mut Tensor,
    group_size: i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda_int6_plain_mm", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe {
            let all = Operands::new(activations, ql, group_size)?;
            let weights = Weights::Int6 {
                low: all.rows(ql, "ql", Dtype::UInt8, 2)?,
                high: all.rows(qh, "qh", Dtype::UInt8, 4)?,
                scale: all.rows(scale, "scale", Dtype::Int8, all.group)?,
                scale_step: all.steps(steps, "steps")?,
            };
            all.multiply(weights, out)
        }
    })
}

/// The product with weights of 8 bits: `qdata` int8 `[n, k]`, scales bfloat16 and zero points int8 `[n, k / group]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_int8_plain_mm(
    activations: *mut Tensor,
    qdata: *mut Tensor,
    scale: *mut Tensor,
    zero: *mut Tensor,
    group_size: i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda_int8_plain_mm", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe {
            let all = Operands::new(activations, qdata, group_size)?;
            let weights = Weights::Int8 {
                data: all.rows(qdata, "qdata", Dtype::Int8, 1)?,
                scale: all.rows(scale, "scale", Dtype::BFloat16, all.group)?,
                zero: all.rows(zero, "zero", Dtype::Int8, all.group)?,
            };
            all.multiply(weights, out)
        }
    })
}
