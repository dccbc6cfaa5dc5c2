//! What every algorithm shares: the description of one call.

use super::{ConvParams, Weight};
use crate::error::{Error, Result, product};
use crate::micro::Post;
use crate::pack::line;
use crate::pool::{Pool, Shared};

/// One call, all of it checked: tensors hold their elements, outputs do not overlap and are in the
/// order that was packed for, sizes fit the parameters and are not 0.
pub(super) struct Call<'a> {
    pub p: &'a ConvParams,
    pub bias: &'a [f32],
    pub weight: &'a [f32],
    pub images: usize,
    pub input: Shared<f32>,
    pub size: [usize; 2],
    pub in_strides: [usize; 4],
    pub out: Shared<f32>,
    pub out_size: [usize; 2],
    pub out_strides: [usize; 4],
    /// Null if nothing is added.
    pub residual: Shared<f32>,
    pub residual_strides: [usize; 4],
    pub post: Post<f32>,
}

/// An algorithm for some convolutions, chosen when weights are packed.
pub(super) trait Algorithm {
    /// Elements of packed weights.
    fn packed_len(&self, p: &ConvParams) -> Result<usize>;

    /// Packs into at least [`Algorithm::packed_len`] elements.
    fn pack(&self, p: &ConvParams, weight: &Weight<'_>, pool: &dyn Pool, to: &mut [f32]);

    /// Elements of scratch for an input and output of these sizes.
    fn scratch_len(&self, p: &ConvParams, images: usize, input: [usize; 2], pool: &dyn Pool)
    -> Result<usize>;

    /// Computes all outputs. Fails, having written nothing, if `scratch` is shorter than
    /// [`Algorithm::scratch_len`].
    fn run(&self, call: &Call<'_>, pool: &dyn Pool, scratch: &mut [f32]) -> Result<()>;
}

/// Elements of scratch for `each` on every thread, and to start on a line.
pub(super) fn total_scratch(threads: usize, each: usize) -> Result<usize> {
    let all = product("convolution scratch", &[threads, each])?;
    all.checked_add(line::<f32>()).ok_or_else(|| Error::new("convolution: scratch overflows"))
}

/// Fails if there is less scratch than that.
pub(super) fn check_scratch(scratch: &[f32], threads: usize, each: usize) -> Result<()> {
    let need = total_scratch(threads, each)?;
    if scratch.len() < need {
        return Err(Error::new(format!(
            "convolution: {need} elements of scratch are needed, got {}",
            scratch.len()
        )));
    }
    Ok(())
}
