//! Shapes of what moves a window over an image.

use super::{check_bias, refused};
use crate::graph::{Convolution, Dims, Pool};
use executorch_abi::Result;

/// Batch, height, width and channels of an image, none of them empty but the batch.
fn image(x: &[usize]) -> Result<(usize, [usize; 2], usize)> {
    match *x {
        [batch, height, width, channels] if height > 0 && width > 0 => Ok((batch, [height, width], channels)),
        _ => Err(refused(format!(
            "an input of shape {x:?}, expected [batch, height, width, channels] with pixels"
        ))),
    }
}

fn overflow(what: &str) -> executorch_abi::Error {
    refused(format!("the {what} overflows"))
}

/// How many positions a window has in a padded dimension.
fn positions(
    size: usize,
    padding: [usize; 2],
    window: usize,
    dilation: usize,
    stride: usize,
) -> Result<usize> {
    let padded = padding.iter().try_fold(size, |sum, &more| sum.checked_add(more));
    let padded = padded.ok_or_else(|| overflow("padded size"))?;
    let span = span(window, dilation)?;
    match padded.checked_sub(span).and_then(|room| room.checked_div(stride)) {
        Some(steps) => Ok(steps + 1),
        None => Err(refused(format!(
            "a window over {span} elements does not fit {size} with padding {padding:?} (stride {stride})"
        ))),
    }
}

/// How many elements a window reaches over.
fn span(window: usize, dilation: usize) -> Result<usize> {
    let steps = window.checked_sub(1).ok_or_else(|| refused("a window of 0 elements"))?;
    steps.checked_mul(dilation).and_then(|span| span.checked_add(1)).ok_or_else(|| overflow("window"))
}

fn spatial(c: &Convolution, size: [usize; 2]) -> Result<[usize; 2]> {
    let one = |i: usize| {
        let all = (c.padding.get(i), c.kernel.get(i), c.dilation.get(i), c.stride.get(i), size.get(i));
        let (Some(padding), Some(&kernel), Some(&dilation), Some(&stride), Some(&size)) = all else {
            return Err(refused("an image has two dimensions"));
        };
        positions(size, *padding, kernel, dilation, stride)
    };
    Ok([one(0)?, one(1)?])
}

/// Input and output channels of all groups.
fn channels(c: &Convolution) -> Result<(usize, usize)> {
    let all = |of_group: usize| c.groups.checked_mul(of_group).ok_or_else(|| overflow("number of channels"));
    Ok((all(c.group_inputs)?, all(c.group_outputs)?))
}

fn check(
    c: &Convolution,
    inputs: usize,
    outputs: usize,
    filter: (&[usize], [usize; 4]),
    bias: Option<&[usize]>,
) -> Result<()> {
    let (expected_inputs, _) = channels(c)?;
    if inputs != expected_inputs {
        return Err(refused(format!(
            "the input has {inputs} channels, expected {} groups of {}",
            c.groups, c.group_inputs
        )));
    }
    let (found, expected) = filter;
    if found != expected {
        return Err(refused(format!("the filter has the shape {found:?}, expected {expected:?}")));
    }
    check_bias(bias, outputs)
}

/// `[N, H, W, C]` to `[N, H', W', O]`.
pub fn convolution(c: &Convolution, x: &[usize], filter: &[usize], bias: Option<&[usize]>) -> Result<Dims> {
    let (batch, size, inputs) = image(x)?;
    let (_, outputs) = channels(c)?;
    let [kernel_height, kernel_width] = c.kernel;
    check(c, inputs, outputs, (filter, [outputs, kernel_height, kernel_width, c.group_inputs]), bias)?;
    let [height, width] = spatial(c, size)?;
    Ok([batch, height, width, outputs].into_iter().collect())
}

/// The same with a filter for each channel.
pub fn depthwise(c: &Convolution, x: &[usize], filter: &[usize], bias: Option<&[usize]>) -> Result<Dims> {
    let (batch, size, inputs) = image(x)?;
    let (_, outputs) = channels(c)?;
    let [kernel_height, kernel_width] = c.kernel;
    check(c, inputs, outputs, (filter, [1, kernel_height, kernel_width, outputs]), bias)?;
    let [height, width] = spatial(c, size)?;
    Ok([batch, height, width, outputs].into_iter().collect())
}

/// What [`convolution`] would make `x` of, with `adjustment` to choose among those.
pub fn transposed(
    c: &Convolution,
    adjustment: [usize; 2],
    x: &[usize],
    filter: &[usize],
    bias: Option<&[usize]>,
) -> Result<Dims> {
    let (batch, [height, width], inputs) = image(x)?;
    let (_, outputs) = channels(c)?;
    let [kernel_height, kernel_width] = c.kernel;
    check(c, inputs, outputs, (filter, [outputs, kernel_height, kernel_width, c.group_inputs]), bias)?;
    let one = |size: usize, padding: [usize; 2], kernel, dilation, stride: usize, more: usize| {
        let steps = size.checked_sub(1).and_then(|steps| steps.checked_mul(stride));
        let whole =
            steps.zip(Some(span(kernel, dilation)?)).and_then(|(steps, span)| steps.checked_add(span));
        let whole =
            whole.and_then(|whole| whole.checked_add(more)).ok_or_else(|| overflow("output's size"))?;
        let [before, after] = padding;
        let rest =
            whole.checked_sub(before).and_then(|rest| rest.checked_sub(after)).filter(|&rest| rest > 0);
        rest.ok_or_else(|| {
            refused(format!("padding {padding:?} leaves nothing of an output of {whole} elements"))
        })
    };
    let [[kernel_h, kernel_w], [dilation_h, dilation_w], [stride_h, stride_w]] =
        [c.kernel, c.dilation, c.stride];
    let [padding_h, padding_w] = c.padding;
    let [more_h, more_w] = adjustment;
    let height = one(height, padding_h, kernel_h, dilation_h, stride_h, more_h)?;
    let width = one(width, padding_w, kernel_w, dilation_w, stride_w, more_w)?;
    Ok([batch, height, width, outputs].into_iter().collect())
}

/// `[N, H, W, C]` to `[N, H', W', C]`. Windows that do not fit whole are left out.
pub fn pool(pool: &Pool, x: &[usize]) -> Result<Dims> {
    let (batch, [height, width], channels) = image(x)?;
    let [[window_h, window_w], [dilation_h, dilation_w], [stride_h, stride_w]] =
        [pool.window, pool.dilation, pool.stride];
    let [padding_h, padding_w] = pool.padding;
    let height = positions(height, padding_h, window_h, dilation_h, stride_h)?;
    let width = positions(width, padding_w, window_w, dilation_w, stride_w)?;
    Ok([batch, height, width, channels].into_iter().collect())
}

/// `[N, H, W, C]` to `[N, H', W', C]`, where `H'` and `W'` are given.
pub fn resize(x: &[usize], [height, width]: [usize; 2]) -> Result<Dims> {
    let (batch, _, channels) = image(x)?;
    Ok([batch, height, width, channels].into_iter().collect())
}
