//! Convolution and transposed convolution for every number type and any strides: plain sums over one
//! row of outputs at a time.

use super::{ConvParams, Tensor4, Tensor4Mut};
use crate::error::{Error, Result, extent};
use crate::number::Number;
use crate::pool::{self, Pool, Shared, TASKS_PER_THREAD};

/// Outputs of a row that are summed together.
const CHUNK: usize = 64;

/// Weights of any strides: `[OC, IC / groups, KH, KW]`, or for a transposed convolution
/// `[IC, OC / groups, KH, KW]`.
#[derive(Debug, Clone, Copy)]
pub struct ConvWeight<'a, T> {
    /// The elements.
    pub data: &'a [T],
    /// Elements between neighbours, for each dimension.
    pub strides: [usize; 4],
}

impl ConvParams {
    /// Height and width of the output of a transposed convolution, for an input of this height and
    /// width; `output_padding` adds to its end.
    pub fn transposed_out_size(&self, input: [usize; 2], output_padding: [usize; 2]) -> Result<[usize; 2]> {
        let mut out = [0; 2];
        for d in 0..2 {
            let [before, after] = self.padding[d];
            let full = input[d].checked_sub(1).and_then(|last| {
                let reach = self.dilation[d].checked_mul(self.kernel[d].checked_sub(1)?)?;
                let full = last.checked_mul(self.stride[d])?.checked_add(reach)?;
                full.checked_add(output_padding[d])?.checked_add(1)
            });
            let size = full.and_then(|full| full.checked_sub(before)?.checked_sub(after));
            out[d] = size.filter(|&s| s > 0 && isize::try_from(s).is_ok()).ok_or_else(|| {
                Error::new(format!(
                    "transposed convolution: input {input:?} with {self:?} and output padding \
                     {output_padding:?} has no output"
                ))
            })?;
        }
        Ok(out)
    }
}

/// What one call works on.
struct Call<'a, T> {
    p: &'a ConvParams,
    transposed: bool,
    weight: ConvWeight<'a, T>,
    bias: Option<&'a [T]>,
    input: &'a Tensor4<'a, T>,
}

/// `output = conv(input, weight) + bias` for any number type.
///
/// Half types are summed in `f32`; integers wrap. Input and output may have any strides, as long as
/// no two outputs share a place. Needs no scratch.
pub fn general_conv<T: Number>(
    pool: &dyn Pool,
    params: &ConvParams,
    weight: ConvWeight<'_, T>,
    bias: Option<&[T]>,
    input: &Tensor4<'_, T>,
    output: &mut Tensor4Mut<'_, T>,
) -> Result<()> {
    let [_, _, h, w] = input.sizes();
    let out = params.check().and_then(|()| params.out_size([h, w]))?;
    let call = Call { p: params, transposed: false, weight, bias, input };
    run(pool, &call, out, output)
}

/// The transposed convolution (the gradient of a convolution by its input) for any number type;
/// otherwise as [`general_conv`].
pub fn general_conv_transposed<T: Number>(
    pool: &dyn Pool,
    params: &ConvParams,
    output_padding: [usize; 2],
    weight: ConvWeight<'_, T>,
    bias: Option<&[T]>,
    input: &Tensor4<'_, T>,
    output: &mut Tensor4Mut<'_, T>,
) -> Result<()> {
    let [_, _, h, w] = input.sizes();
    params.check()?;
    let out = params.transposed_out_size([h, w], output_padding)?;
    let call = Call { p: params, transposed: true, weight, bias, input };
    run(pool, &call, out, output)
}

fn run<T: Number>(
    pool: &dyn Pool,
    call: &Call<'_, T>,
    [oh, ow]: [usize; 2],
    output: &mut Tensor4Mut<'_, T>,
) -> Result<()> {
    let p = call.p;
    let [n, c, ..] = call.input.sizes();
    let expected = [n, p.out_channels, oh, ow];
    if c != p.in_channels || output.sizes() != expected {
        return Err(Error::new(format!(
            "convolution: an input of {} channels gives {expected:?}, but the input has {c} channels \
             and the output is {:?}",
            p.in_channels,
            output.sizes()
        )));
    }
    let (first, second) =
        if call.transposed { (p.in_channels, p.out_group()) } else { (p.out_channels, p.in_group()) };
    let sizes = [first, second, p.kernel[0], p.kernel[1]];
    let need = extent("convolution weight", &sizes, &call.weight.strides)?;
    if need > call.weight.data.len() || call.bias.is_some_and(|b| b.len() != p.out_channels) {
        return Err(Error::new(format!(
            "convolution: weight {sizes:?} needs {need} elements and the bias {}; got {} and {:?}",
            p.out_channels,
            call.weight.data.len(),
            call.bias.map(<[T]>::len)
        )));
    }
    output.check_disjoint()?;
    if expected.contains(&0) {
        return Ok(());
    }
    let strides = output.strides();
    let rows = n * p.out_channels * oh;
    let work = [rows, ow, p.in_group(), p.kernel[0], p.kernel[1], 8]
        .iter()
        .fold(1usize, |acc, &s| acc.saturating_mul(s));
    let tasks = match pool::useful_threads(pool, work) {
        1 => 1,
        threads => (threads * TASKS_PER_THREAD).min(rows),
    };
    let to = Shared::new(output.data);
    pool::run(pool, tasks, &|task| {
        for row in pool::part(rows, tasks, task) {
            let (y, oc, image) = (row % oh, row / oh % p.out_channels, row / oh / p.out_channels);
            for x in (0..ow).step_by(CHUNK) {
                let len = (ow - x).min(CHUNK);
                let start = call.bias.map_or(T::ZERO, |b| b[oc].widen());
                let mut sums = [start; CHUNK];
                call.add_row(image, oc, y, x, &mut sums[..len]);
                for (i, &sum) in sums.iter().enumerate().take(len) {
                    let at: usize = [image, oc, y, x + i].iter().zip(strides).map(|(i, s)| i * s).sum();
                    // SAFETY: the element lies in the checked output, and this row is this task's.
                    unsafe { *to.get().add(at) = T::narrow(sum) };
                }
            }
        }
    });
    Ok(())
}

impl<T: Number> Call<'_, T> {
    /// Adds all products of outputs `x0..` of one row.
    fn add_row(&self, image: usize, oc: usize, y: usize, x0: usize, sums: &mut [T::Sum]) {
        let p = self.p;
        let [_, _, h, w] = self.input.sizes();
        let s = self.input.strides();
        let ws = self.weight.strides;
        let group = oc / p.out_group();
        let [[top, _], [left, _]] = p.padding;
        for i in 0..p.in_group() {
            let ic = group * p.in_group() + i;
            let weight = if self.transposed {
                ic * ws[0] + oc % p.out_group() * ws[1]
            } else {
                oc * ws[0] + i * ws[1]
            };
            for ky in 0..p.kernel[0] {
                let iy = if self.transposed {
                    let up = (y + top).wrapping_sub(ky * p.dilation[0]);
                    if up > y + top || !up.is_multiple_of(p.stride[0]) {
                        continue;
                    }
                    up / p.stride[0]
                } else {
                    (y * p.stride[0] + ky * p.dilation[0]).wrapping_sub(top)
                };
                if iy >= h {
                    continue;
                }
                let line = image * s[0] + ic * s[1] + iy * s[2];
                for kx in 0..p.kernel[1] {
                    let factor = self.weight.data[weight + ky * ws[2] + kx * ws[3]].widen();
                    let offset = kx * p.dilation[1];
                    for (j, sum) in sums.iter_mut().enumerate() {
                        let x = x0 + j;
                        let ix = if self.transposed {
                            let up = (x + left).wrapping_sub(offset);
                            if up > x + left || !up.is_multiple_of(p.stride[1]) {
                                continue;
                            }
                            up / p.stride[1]
                        } else {
                            (x * p.stride[1] + offset).wrapping_sub(left)
                        };
                        if ix < w {
                            let value = self.input.data()[line + ix * s[3]].widen();
                            *sum = T::add_product(*sum, factor, value);
                        }
                    }
                }
            }
        }
    }
}
