//! Convolutions: `f32` (and half floats in `f32`) with weights packed at load, everything else on the general path.

use crate::elements::{Item, items, items_mut, narrow, widen};
use crate::op::{Context, Prepare, Prepared, Table, bad, output, prepared};
use crate::packed::Cache;
use crate::pool::ProcessPool;
use crate::shape::Shape;
use crate::with_item;
use executorch_abi::{Args, Dtype, Error, Result, TensorMut, TensorRef};
use executorch_gemm::conv::{
    ConvParams, ConvWeight, Layout, PackedConv, PackedConvTransposed, Tensor4, Tensor4Mut, general_conv,
    general_conv_transposed,
};
use executorch_gemm::{Activation, Number};
use std::sync::Arc;

/// What this family registers.
pub static TABLE: Table = Table::new(&[prepared::<Convolution>(c"aten::convolution.out", c"TTtLLLBLI>T")]);

/// The place of the output among the arguments.
const OUT: usize = 9;

/// Everything about a convolution but its numbers. One-dimensional ones are two-dimensional of height 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Channels, kernel, stride, padding, dilation, groups.
    pub params: ConvParams,
    /// Whether it is a transposed one.
    pub transposed: bool,
    /// Added to the end of a transposed one's output.
    pub output_padding: [usize; 2],
    /// Dimensions of input, weight and output: 3 or 4.
    pub rank: usize,
}

/// Where the options of a convolution stand among an operator's arguments: stride, padding, dilation, transposed,
/// output padding, groups follow each other.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The place of the weight.
    pub weight: usize,
    /// The place of the stride.
    pub first: usize,
}

impl Geometry {
    /// Reads the options of a convolution.
    pub fn of(args: &Args<'_>, options: Options) -> Result<Self> {
        let weight = args.tensor(options.weight)?;
        let rank = weight.rank();
        if rank != 3 && rank != 4 {
            return Err(bad(format!(
                "the weight of a convolution should have 3 dimensions (1-d) or 4 (2-d), found sizes {:?}",
                weight.sizes()
            )));
        }
        let (sizes, _) = image(weight);
        let list = |at: usize, what, neutral, least| {
            pair(args.ints(options.first + at)?, rank - 2, neutral, least).map_err(|e| e.within(what))
        };
        let groups = args.int(options.first + 5)?;
        let groups = usize::try_from(groups).ok().filter(|&g| g > 0);
        let groups = groups.ok_or_else(|| bad("the number of groups should be 1 or more"))?;
        let transposed = args.bool(options.first + 3)?;
        let [first, second, height, width] = sizes;
        let grouped = second.checked_mul(groups).ok_or_else(|| bad("the number of channels overflows"))?;
        let (out_channels, in_channels) = if transposed { (grouped, first) } else { (first, grouped) };
        let padding = list(1, "padding", 0, 0)?;
        let params = ConvParams {
            in_channels,
            out_channels,
            groups,
            kernel: [height, width],
            stride: list(0, "stride", 1, 1)?,
            padding: padding.map(|p| [p; 2]),
            dilation: list(2, "dilation", 1, 1)?,
        };
        params.check().map_err(invalid)?;
        let output_padding = if transposed { list(4, "output padding", 0, 0)? } else { [0; 2] };
        for d in 0..2 {
            if output_padding[d] >= params.stride[d].max(params.dilation[d]) {
                return Err(bad(format!(
                    "the output padding {output_padding:?} should be less than the stride {:?} or the dilation {:?}",
                    params.stride, params.dilation
                )));
            }
        }
        Ok(Self { params, transposed, output_padding, rank })
    }

    /// The sizes `[N, C, H, W]` and strides of the input, and the sizes of the output.
    pub fn sizes(&self, input: TensorRef<'_>) -> Result<([usize; 4], [usize; 4], [usize; 4])> {
        if input.rank() != self.rank {
            return Err(bad(format!(
                "the input of a convolution should have {} dimensions, as its weight has, found sizes {:?}",
                self.rank,
                input.sizes()
            )));
        }
        let (sizes, strides) = image(input);
        let [n, c, h, w] = sizes;
        if c != self.params.in_channels {
            return Err(bad(format!(
                "the input of this convolution should have {} channels, found sizes {:?}",
                self.params.in_channels,
                input.sizes()
            )));
        }
        let [oh, ow] = if self.transposed {
            self.params.transposed_out_size([h, w], self.output_padding)
        } else {
            self.params.out_size([h, w])
        }
        .map_err(invalid)?;
        Ok((sizes, strides, [n, self.params.out_channels, oh, ow]))
    }

    /// The sizes of a tensor that `[N, C, H, W]` stands for.
    pub fn shape(&self, [n, c, h, w]: [usize; 4]) -> Result<Shape> {
        let size = |s: usize| i32::try_from(s).map_err(|_| bad(format!("a size of {s} is too large")));
        let four = [size(n)?, size(c)?, size(h)?, size(w)?];
        if self.rank == 4 { Shape::new(&four) } else { Shape::new(&[four[0], four[1], four[3]]) }
    }
}

/// An error of the products and convolutions, about arguments.
pub fn invalid(error: executorch_gemm::Error) -> Error {
    bad(error.to_string())
}

/// Two values, `[height, width]`, of a list that has one for each of the `spatial` dimensions, or one for all, or
/// none.
fn pair(list: &[i64], spatial: usize, neutral: usize, least: i64) -> Result<[usize; 2]> {
    let value = |at: usize| -> Result<usize> {
        let Some(&value) = (if list.len() == 1 { list.first() } else { list.get(at) }) else {
            return Ok(neutral);
        };
        let found = usize::try_from(value).ok().filter(|_| value >= least);
        found.ok_or_else(|| bad(format!("expected values of {least} or more, found {list:?}")))
    };
    if list.len() > 1 && list.len() != spatial {
        return Err(bad(format!("expected 1 value or {spatial}, found {list:?}")));
    }
    if spatial == 1 { Ok([neutral, value(0)?]) } else { Ok([value(0)?, value(1)?]) }
}

/// Sizes and strides of a tensor of 3 or 4 dimensions as `[N, C, H, W]`.
pub fn image(tensor: TensorRef<'_>) -> ([usize; 4], [usize; 4]) {
    let (mut sizes, mut strides) = ([1; 4], [1; 4]);
    let places: &[usize] = if tensor.rank() == 3 { &[0, 1, 3] } else { &[0, 1, 2, 3] };
    for (&at, (&size, &stride)) in places.iter().zip(tensor.sizes().iter().zip(tensor.strides())) {
        sizes[at] = size.max(0) as usize;
        strides[at] = stride.max(0) as usize;
    }
    if tensor.rank() == 3 {
        strides[2] = strides[3] * sizes[3];
    }
    (sizes, strides)
}

/// The layout to pack weights in for an output.
fn packing_layout(out: TensorRef<'_>) -> Layout {
    match (out.dim_order().last(), image(out).0) {
        // Of single pixels both layouts are one, and many channels of one pixel fill vectors better than the other way
        // round.
        (Some(1), _) | (_, [_, _, 1, 1]) => Layout::ChannelsLast,
        _ => Layout::ChannelsFirst,
    }
}

/// What a packed copy depends on.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    weight: [u64; 2],
    bias: Option<[u64; 2]>,
    geometry: Geometry,
    layout: Layout,
    weight_strides: [usize; 4],
}

static PACKED: Cache<Key, Packed> = Cache::new();

/// Packed weights and bias.
enum Packed {
    Forward(PackedConv),
    Transposed(PackedConvTransposed),
}

impl Packed {
    fn new(
        geometry: &Geometry,
        layout: Layout,
        weight: &[f32],
        strides: [usize; 4],
        bias: Option<&[f32]>,
    ) -> executorch_gemm::Result<Self> {
        Ok(if geometry.transposed {
            let weight = ConvWeight { data: weight, strides };
            let packed = PackedConvTransposed::new(geometry.params, geometry.output_padding, weight, bias)?;
            Self::Transposed(packed)
        } else {
            Self::Forward(PackedConv::new(geometry.params, layout, weight, strides, bias)?)
        })
    }

    fn scratch_len(&self, input: [usize; 4], pool: &ProcessPool) -> Result<usize> {
        match self {
            Self::Forward(conv) => conv.scratch_len(input, pool),
            Self::Transposed(conv) => conv.scratch_len(input, pool),
        }
        .map_err(invalid)
    }

    fn run(
        &self,
        context: &mut Context,
        input: &Tensor4<'_, f32>,
        mut output: Tensor4Mut<'_, f32>,
    ) -> Result<()> {
        let pool = ProcessPool::now();
        let scratch = context.scratch(self.scratch_len(input.sizes(), &pool)?)?;
        match self {
            Self::Forward(conv) => conv.run(&pool, scratch, input, &mut output, Activation::None),
            Self::Transposed(conv) => conv.run(&pool, scratch, input, &mut output, Activation::None),
        }
        .map_err(invalid)
    }
}

/// The elements of a tensor of half or single floats, in `f32`.
fn to_f32(tensor: TensorRef<'_>) -> Result<Vec<f32>> {
    let mut values = vec![0.0; tensor.numel()];
    widen(tensor, &mut values)?;
    Ok(values)
}

/// A call site of `aten::convolution.out` whose weight and bias are constant.
pub struct Convolution {
    geometry: Geometry,
    layout: Layout,
    dtype: Dtype,
    packed: Arc<Packed>,
}

impl Convolution {
    /// Packs the weight and bias of a call, or finds them packed; none if the call has to do without.
    fn pack(args: &Args<'_>, identity: impl Fn(usize) -> Option<[u64; 2]>) -> Result<Option<Self>> {
        let (weight, bias) = (args.tensor(1)?, args.optional_tensor(2)?);
        let dtype = weight.dtype()?;
        // What is wrong with the options is told by the run, if it ever comes.
        let Ok(geometry) = Geometry::of(args, Options { weight: 1, first: 3 }) else { return Ok(None) };
        let same_type = bias.is_none_or(|b| b.dtype() == Ok(dtype));
        if !matches!(dtype, Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16) || !same_type {
            return Ok(None);
        }
        let layout = packing_layout(args.tensor(OUT)?);
        let (_, weight_strides) = image(weight);
        let key = identity(1).and_then(|weight| {
            let bias = bias.map(|_| identity(2));
            let known = bias.is_none_or(|b| b.is_some());
            known.then_some(Key { weight, bias: bias.flatten(), geometry, layout, weight_strides })
        });
        let packed = PACKED.get(key, || {
            let bias = bias.map(to_f32).transpose()?;
            let pack = |data: &[f32]| {
                Packed::new(&geometry, layout, data, weight_strides, bias.as_deref()).map_err(invalid)
            };
            if dtype == Dtype::Float32 { pack(items(weight)?) } else { pack(&to_f32(weight)?) }
        })?;
        Ok(Some(Self { geometry, layout, dtype, packed }))
    }
}

impl Prepared for Convolution {
    fn prepare(context: &mut Prepare, args: &Args<'_>) -> Result<Option<Self>> {
        if !(1..OUT).all(|i| context.is_constant(i)) {
            return Ok(None);
        }
        let Some(site) = Self::pack(args, |argument| context.identity(argument))? else { return Ok(None) };
        context.release(1)?;
        if !args.is_none(2)? {
            context.release(2)?;
        }
        if let Ok((sizes, _, out)) = site.geometry.sizes(args.tensor(0)?) {
            let mut need = site.packed.scratch_len(sizes, &ProcessPool::now())?;
            if site.dtype != Dtype::Float32 {
                need += sizes.iter().product::<usize>() + out.iter().product::<usize>() + 64;
            }
            context.reserve::<f32>(need)?;
        }
        Ok(Some(site))
    }

    fn run(state: Option<&Self>, context: &mut Context, args: &Args<'_>) -> Result<()> {
        let Some(state) = state else { return run_unprepared(args) };
        let input = args.tensor(0)?;
        if input.dtype()? != state.dtype {
            return Err(wrong_dtypes(input.dtype()?, state.dtype));
        }
        let (sizes, strides, out_sizes) = state.geometry.sizes(input)?;
        let mut out = output(args, OUT, state.geometry.shape(out_sizes)?.sizes(), &[input])?;
        let (_, out_strides) = image(out.view());
        let packed = &state.packed;
        let fits = dense_in(state.layout, out_sizes, out_strides);
        if state.dtype == Dtype::Float32 && fits {
            let input = Tensor4::new(items(input)?, sizes, strides).map_err(invalid)?;
            let output = Tensor4Mut::new(items_mut(&mut out)?, out_sizes, out_strides).map_err(invalid)?;
            return packed.run(context, &input, output);
        }
        let wide: &[f32] = if state.dtype == Dtype::Float32 {
            items(input)?
        } else {
            let wide = context.scratch(input.numel())?;
            widen(input, wide)?;
            wide
        };
        let result = context.scratch::<f32>(out.view().numel())?;
        let input = Tensor4::new(wide, sizes, strides).map_err(invalid)?;
        let target = Tensor4Mut::dense(&mut *result, out_sizes, state.layout).map_err(invalid)?;
        packed.run(context, &input, target)?;
        if fits {
            return narrow(result, &mut out);
        }
        let dense = state.layout.strides(out_sizes).map_err(invalid)?;
        let ordered = context.scratch::<f32>(result.len())?;
        reorder(result, dense, ordered, out_sizes, out_strides);
        narrow(ordered, &mut out)
    }
}

/// Whether strides are those of a dense image in this layout; those of sizes of 1 mean nothing.
fn dense_in(layout: Layout, sizes: [usize; 4], strides: [usize; 4]) -> bool {
    let Ok(dense) = layout.strides(sizes) else { return false };
    sizes.contains(&0) || (0..4).all(|d| sizes[d] == 1 || strides[d] == dense[d])
}

/// Copies an image to another order of dimensions.
fn reorder(
    from: &[f32],
    from_strides: [usize; 4],
    to: &mut [f32],
    sizes: [usize; 4],
    to_strides: [usize; 4],
) {
    let [n, c, h, w] = sizes;
    for image in 0..n {
        for channel in 0..c {
            for y in 0..h {
                for x in 0..w {
                    let place = |s: [usize; 4]| image * s[0] + channel * s[1] + y * s[2] + x * s[3];
                    to[place(to_strides)] = from[place(from_strides)];
                }
            }
        }
    }
}

fn wrong_dtypes(input: Dtype, weight: Dtype) -> Error {
    bad(format!("the input of a convolution should be of the weight's dtype {weight}, found {input}"))
}

/// The call with what its arguments hold now.
fn run_unprepared(args: &Args<'_>) -> Result<()> {
    let geometry = Geometry::of(args, Options { weight: 1, first: 3 })?;
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?);
    let (_, _, out_sizes) = geometry.sizes(input)?;
    let inputs = [input, weight, bias.unwrap_or(weight)];
    let mut out = output(args, OUT, geometry.shape(out_sizes)?.sizes(), &inputs)?;
    with_item!(weight.dtype()?, number T => general::<T>(&geometry, input, weight, bias, &mut out))
}

/// A convolution of any number type, in any layouts.
pub fn general<T: Item + Number>(
    geometry: &Geometry,
    input: TensorRef<'_>,
    weight: TensorRef<'_>,
    bias: Option<TensorRef<'_>>,
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let (sizes, strides, out_sizes) = geometry.sizes(input)?;
    let data = items::<T>(input).map_err(|e| e.within("the input"))?;
    let input = Tensor4::new(data, sizes, strides).map_err(invalid)?;
    let weight = ConvWeight { data: items::<T>(weight)?, strides: image(weight).1 };
    let bias = bias.map(items::<T>).transpose().map_err(|e| e.within("the bias"))?;
    let (_, out_strides) = image(out.view());
    let data = items_mut::<T>(out).map_err(|e| e.within("the output"))?;
    let mut output = Tensor4Mut::new(data, out_sizes, out_strides).map_err(invalid)?;
    let pool = ProcessPool::now();
    if geometry.transposed {
        let padding = geometry.output_padding;
        general_conv_transposed(&pool, &geometry.params, padding, weight, bias, &input, &mut output)
    } else {
        general_conv(&pool, &geometry.params, weight, bias, &input, &mut output)
    }
    .map_err(invalid)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::testing::{Tensor, ints};
    use executorch_abi::value::et_value_t;
    use std::ptr;

    const FIRST: &[u8] = &[0, 1, 2, 3];
    const LAST: &[u8] = &[0, 2, 3, 1];

    /// A convolution of `[N, C, H, W]` by `[O, I, KH, KW]`.
    struct Case {
        input: [i32; 4],
        weight: [i32; 4],
        stride: [i64; 2],
        padding: [i64; 2],
        dilation: [i64; 2],
        transposed: bool,
        output_padding: [i64; 2],
        groups: i64,
    }

    const PLAIN: Case = Case {
        input: [2, 4, 7, 6],
        weight: [6, 4, 3, 2],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        transposed: false,
        output_padding: [0, 0],
        groups: 1,
    };

    impl Case {
        /// Height and width of the output, and its channels.
        fn out(&self) -> [i32; 4] {
            let size = |d: usize| {
                let (i, k) = (i64::from(self.input[2 + d]), i64::from(self.weight[2 + d]));
                let reach = self.dilation[d] * (k - 1) + 1;
                let size = if self.transposed {
                    (i - 1) * self.stride[d] - 2 * self.padding[d] + reach + self.output_padding[d]
                } else {
                    (i + 2 * self.padding[d] - reach) / self.stride[d] + 1
                };
                size as i32
            };
            let channels = if self.transposed { self.weight[1] * self.groups as i32 } else { self.weight[0] };
            [self.input[0], channels, size(0), size(1)]
        }

        /// All outputs, each kernel element added where it belongs.
        fn reference(&self, input: &[f64], weight: &[f64], bias: &[f64]) -> Vec<f64> {
            let [n, c, h, w] = self.input.map(|s| s as usize);
            let [_, inner, kh, kw] = self.weight.map(|s| s as usize);
            let [_, outs, oh, ow] = self.out().map(|s| s as usize);
            let mut out = vec![0.0; n * outs * oh * ow];
            for (at, value) in out.iter_mut().enumerate() {
                *value = bias[at / (oh * ow) % outs];
            }
            let (ins, per) = (c / self.groups as usize, outs / self.groups as usize);
            for i in 0..n * c * h * w * per * kh * kw {
                let (kx, ky, o) = (i % kw, i / kw % kh, i / (kw * kh) % per);
                let place = i / (kw * kh * per);
                let (channel, image) = (place / (h * w) % c, place / (c * h * w));
                let (y, x) = ((place / w % h) as i64, (place % w) as i64);
                let oc = channel / ins * per + o;
                let at = |d: usize, p: i64, k: usize| {
                    let offset = k as i64 * self.dilation[d];
                    if self.transposed {
                        return Some(p * self.stride[d] + offset - self.padding[d]);
                    }
                    let up = p + self.padding[d] - offset;
                    (up % self.stride[d] == 0).then_some(up / self.stride[d]).filter(|_| up >= 0)
                };
                let (Some(oy), Some(ox)) = (at(0, y, ky), at(1, x, kx)) else { continue };
                if oy < 0 || ox < 0 || oy >= oh as i64 || ox >= ow as i64 {
                    continue;
                }
                let (a, b) = if self.transposed { (channel, o) } else { (oc, channel % ins) };
                let factor = weight[((a * inner + b) * kh + ky) * kw + kx];
                out[((image * outs + oc) * oh + oy as usize) * ow + ox as usize] += input[place] * factor;
            }
            out
        }

        /// Runs the call, packed for an output in the order `packed` if that is given, and checks its results.
        fn check(&self, dtype: Dtype, input_order: &[u8], out_order: &[u8], packed: Option<&[u8]>) {
            let value = |i: usize| ((i * 37 % 29) as f64 - 14.0) / 8.0;
            let mut input = Tensor::new(dtype, &self.input, input_order, value);
            let mut weight = Tensor::contiguous(dtype, &self.weight, |i| value(i + 5));
            let out_sizes = self.out();
            let mut bias = Tensor::contiguous(dtype, &out_sizes[1..2], |i| i as f64 / 4.0);
            let want = self.reference(&input.values(), &weight.values(), &bias.values());
            let mut out = Tensor::new(dtype, &out_sizes, out_order, |_| 77.0);
            let mut other = Tensor::new(dtype, &out_sizes, packed.unwrap_or(FIRST), |_| 0.0);
            let mut args = [
                (&mut input).into(),
                (&mut weight).into(),
                (&mut bias).into(),
                ints(&self.stride),
                ints(&self.padding),
                ints(&self.dilation),
                et_value_t::bool(self.transposed),
                ints(&self.output_padding),
                et_value_t::int(self.groups),
                (&mut other).into(),
            ];
            let run = |args: &mut [et_value_t], state: Option<&Convolution>| {
                let pointers: Vec<_> = args.iter_mut().map(ptr::from_mut).collect();
                // SAFETY: the values live as long as the call, as do the tensors among them.
                let args = unsafe { Args::new(pointers.as_ptr(), pointers.len()) };
                match state {
                    None => Convolution::pack(&args, |_| None),
                    state => Convolution::run(state, &mut Context::detached(), &args).map(|()| None),
                }
            };
            if packed.is_some() {
                let site = run(&mut args, None).unwrap().unwrap();
                args[OUT] = (&mut out).into();
                run(&mut args, Some(&site)).unwrap();
            } else {
                args[OUT] = (&mut out).into();
                let pointers: Vec<_> = args.iter_mut().map(ptr::from_mut).collect();
                // SAFETY: as above.
                run_unprepared(&unsafe { Args::new(pointers.as_ptr(), pointers.len()) }).unwrap();
            }
            let rounding = match dtype {
                Dtype::Float16 => 1e-3,
                Dtype::BFloat16 => 8e-3,
                _ => 1e-5,
            };
            for (i, (got, want)) in out.values().into_iter().zip(want).enumerate() {
                let close = (got - want).abs() <= rounding * want.abs().max(1.0);
                assert!(close, "{dtype} {input_order:?} {out_order:?}: element {i} is {got}, not {want}");
            }
        }
    }

    #[test]
    fn packed_and_general_calls_are_right_in_every_layout() {
        let cases = [
            PLAIN,
            Case { stride: [2, 3], padding: [1, 2], dilation: [2, 1], ..PLAIN },
            Case { weight: [6, 2, 3, 3], groups: 2, padding: [1, 1], ..PLAIN },
            Case { weight: [8, 1, 3, 3], groups: 4, padding: [1, 1], stride: [2, 2], ..PLAIN },
            Case { weight: [5, 4, 1, 1], ..PLAIN },
            Case { weight: [5, 4, 7, 6], ..PLAIN },
            Case { weight: [4, 3, 3, 2], transposed: true, stride: [2, 3], output_padding: [1, 2], ..PLAIN },
            Case { weight: [4, 2, 2, 3], transposed: true, groups: 2, padding: [1, 1], ..PLAIN },
            Case { input: [0, 4, 7, 6], ..PLAIN },
        ];
        for case in &cases {
            for (dtype, orders) in [
                (Dtype::Float32, &[(FIRST, FIRST), (LAST, LAST), (FIRST, LAST), (LAST, FIRST)][..]),
                (Dtype::Float16, &[(FIRST, FIRST), (LAST, LAST)]),
                (Dtype::BFloat16, &[(FIRST, LAST)]),
            ] {
                for &(input, out) in orders {
                    case.check(dtype, input, out, None);
                    case.check(dtype, input, out, Some(out));
                }
            }
            // The output is in another order than the one packed for.
            case.check(Dtype::Float32, FIRST, LAST, Some(FIRST));
            case.check(Dtype::Float16, LAST, FIRST, Some(LAST));
            case.check(Dtype::Float32, FIRST, &[2, 0, 3, 1], Some(FIRST));
            case.check(Dtype::Float64, LAST, LAST, None);
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut tensors = [[1, 3, 5, 5], [2, 4, 3, 3], [1, 2, 3, 3]]
            .map(|sizes| Tensor::contiguous(Dtype::Float32, &sizes, |_| 0.0));
        let [input, weight, out] = &mut tensors;
        let (one, none) = ([1_i64, 1], [0_i64, 0]);
        let call = |padding: &[i64], args: [&mut Tensor; 3]| {
            let [input, weight, out] = args;
            let mut args = [
                input.into(),
                weight.into(),
                et_value_t::NONE,
                ints(&one),
                ints(padding),
                ints(&one),
                et_value_t::bool(false),
                ints(&none),
                et_value_t::int(1),
                out.into(),
            ];
            let pointers: Vec<_> = args.iter_mut().map(ptr::from_mut).collect();
            // SAFETY: the values live as long as the call, as do the tensors among them.
            run_unprepared(&unsafe { Args::new(pointers.as_ptr(), pointers.len()) }).unwrap_err().message
        };
        assert!(call(&none, [input, weight, out]).contains("should have 4 channels"));
        assert!(call(&[-1, 0], [input, weight, out]).contains("values of 0 or more"));
        assert!(call(&[0, 0, 0], [input, weight, out]).contains("expected 1 value or 2"));
    }
}
