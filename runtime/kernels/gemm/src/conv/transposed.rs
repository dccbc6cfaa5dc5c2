//! Transposed convolution in `f32`: a product of the weights with the pixels gives what every input
//! pixel adds to its neighbourhood, and that is added up, channel by channel.

use super::packing::{bias_len, check_bias, write_bias};
use super::{ConvParams, ConvWeight, Tensor4, Tensor4Mut, Weight};
use crate::error::{Error, Result, product};
use crate::gemm::{Activation, Lhs, Product, Rhs};
use crate::isa::Isa;
use crate::matrix::{Matrix, MatrixMut};
use crate::micro::Post;
use crate::pack::PackedA;
use crate::pool::{self, Pool, Shared, TASKS_PER_THREAD};
use crate::store::{Header, Kind, PackedBytes, blob_len, elements_mut};

/// What the packed form of a transposed convolution's weights depends on, besides their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransposedPacking {
    /// The convolution.
    pub params: ConvParams,
    /// What is added to the end of the output, `[height, width]`.
    pub output_padding: [usize; 2],
    /// The instruction set that will run it.
    pub isa: Isa,
}

impl TransposedPacking {
    /// For the process's instruction set.
    pub fn new(params: ConvParams, output_padding: [usize; 2]) -> Self {
        Self { params, output_padding, isa: Isa::active() }
    }

    /// `[M, K]` of each group's operand.
    fn group_shape(&self) -> Result<[usize; 2]> {
        self.params.check()?;
        let [height, width] = self.params.kernel;
        let rows = product("transposed convolution weight", &[self.params.out_group(), height, width])?;
        Ok([rows, self.params.in_group()])
    }

    /// Bytes of each group's operand.
    fn group_len(&self) -> Result<usize> {
        PackedA::<f32>::packed_len(self.group_shape()?, self.isa)
    }

    /// Bytes of the packed weights and bias.
    pub fn packed_len(&self) -> Result<usize> {
        let groups = product("transposed convolution weight", &[self.params.groups, self.group_len()?])?;
        blob_len::<f32>(bias_len(&self.params))?
            .checked_add(groups)
            .ok_or_else(|| Error::new("transposed convolution: packed weights overflow"))
    }

    /// Packs weights `[IC, OC / groups, KH, KW]` of any strides, and the bias (none means 0), into `to`,
    /// of [`TransposedPacking::packed_len`] bytes that start on a multiple of
    /// [`crate::PACKED_ALIGNMENT`].
    pub fn pack_into(&self, weight: ConvWeight<'_, f32>, bias: Option<&[f32]>, to: &mut [u8]) -> Result<()> {
        let params = &self.params;
        let each = self.group_len()?;
        let [height, width] = params.kernel;
        let (ins, outs) = (params.in_group(), params.out_group());
        let sizes = [params.in_channels, outs, height, width];
        let weight = Weight::new("transposed convolution", weight, sizes)?;
        check_bias(params, bias)?;
        self.header()?.write(to)?;
        let (first, groups) = to.split_at_mut(blob_len::<f32>(bias_len(params))?);
        write_bias(bias, elements_mut::<f32>(first)?);
        let mut dense = Vec::with_capacity(ins * outs * height * width);
        for (group, to) in groups.chunks_exact_mut(each).enumerate() {
            dense.clear();
            for ic in group * ins..(group + 1) * ins {
                for oc in 0..outs {
                    for y in 0..height {
                        dense.extend((0..width).map(|x| weight.get(ic, oc, y, x)));
                    }
                }
            }
            let view = Matrix::row_major(&dense, ins, outs * height * width)?;
            PackedA::pack_into(&view.transposed(), self.isa, to)?;
        }
        Ok(())
    }

    fn header(&self) -> Result<Header> {
        let numbers: Vec<usize> = self.params.numbers().chain(self.output_padding).collect();
        Ok(Header::new::<f32>(Kind::Transposed, self.isa, self.packed_len()?, &numbers))
    }
}

/// A transposed convolution whose weights and bias are packed.
#[derive(Debug, Clone)]
pub struct PackedConvTransposed {
    params: ConvParams,
    output_padding: [usize; 2],
    bytes: PackedBytes,
    /// For each group, `[OC / groups · KH · KW, IC / groups]`.
    weight: Vec<PackedA<f32>>,
}

impl PackedConvTransposed {
    /// Packs weights `[IC, OC / groups, KH, KW]` of any strides, for the process's instruction set. No
    /// bias means 0.
    pub fn new(
        params: ConvParams,
        output_padding: [usize; 2],
        weight: ConvWeight<'_, f32>,
        bias: Option<&[f32]>,
    ) -> Result<Self> {
        Self::pack(TransposedPacking::new(params, output_padding), weight, bias)
    }

    /// As [`PackedConvTransposed::new`], for a given instruction set. Fails if this CPU lacks it.
    pub fn pack(
        packing: TransposedPacking,
        weight: ConvWeight<'_, f32>,
        bias: Option<&[f32]>,
    ) -> Result<Self> {
        let bytes = PackedBytes::build(packing.packed_len()?, |to| packing.pack_into(weight, bias, to))?;
        Self::from_bytes(packing, bytes)
    }

    /// A convolution whose weights were packed before, in this process or another. Fails if this CPU
    /// lacks the instruction set, or if the bytes were packed for anything else. Values are not checked.
    pub fn from_bytes(packing: TransposedPacking, bytes: PackedBytes) -> Result<Self> {
        packing.header()?.check(bytes.get()?)?;
        let (shape, each) = (packing.group_shape()?, packing.group_len()?);
        let start = blob_len::<f32>(bias_len(&packing.params))?;
        let group = |g: usize| {
            let part = bytes.part(start + g * each..start + (g + 1) * each)?;
            PackedA::from_bytes(shape, packing.isa, part)
        };
        let weight = (0..packing.params.groups).map(group).collect::<Result<_>>()?;
        let TransposedPacking { params, output_padding, .. } = packing;
        Ok(Self { params, output_padding, bytes, weight })
    }

    /// What [`PackedConvTransposed::from_bytes`] takes.
    pub fn bytes(&self) -> &PackedBytes {
        &self.bytes
    }

    /// The product of one group's weights with the pixels of one image.
    fn product<'a>(&'a self, group: usize, pixels: Matrix<'a, f32>) -> Product<'a, f32> {
        Product::new(Lhs::Packed(&self.weight[group]), Rhs::View(pixels))
    }

    /// Elements of the product of one image and group, and of the scratch it needs.
    fn scratch_parts(&self, [_, _, h, w]: [usize; 4], pool: &dyn Pool) -> Result<[usize; 2]> {
        let pixels = product("image", &[h, w])?;
        let [kh, kw] = self.params.kernel;
        let parts = product("scratch", &[self.params.out_group(), kh, kw, pixels])?;
        // A view of one repeated element stands for the image: only its shape counts.
        let shape = Matrix::new(&[0.0], [self.params.in_group(), pixels], [0, 0])?;
        Ok([parts, self.product(0, shape).scratch_len(pool)?])
    }

    /// Elements of scratch that [`PackedConvTransposed::run`] needs for an input `[N, C, H, W]`.
    pub fn scratch_len(&self, input: [usize; 4], pool: &dyn Pool) -> Result<usize> {
        self.params.transposed_out_size([input[2], input[3]], self.output_padding)?;
        let [parts, rest] = self.scratch_parts(input, pool)?;
        // Pixels that are not evenly spaced are copied first.
        let pixels = product("image", &[self.params.in_group(), input[2], input[3]])?;
        parts
            .checked_add(rest)
            .and_then(|sum| sum.checked_add(pixels))
            .ok_or_else(|| Error::new("transposed convolution: scratch overflows"))
    }

    /// Applies the convolution. Input and output may have any strides, as long as no two outputs
    /// share a place. `scratch` has at least [`PackedConvTransposed::scratch_len`] elements; nothing is
    /// allocated. On an error `output` is unchanged.
    pub fn run(
        &self,
        pool: &dyn Pool,
        scratch: &mut [f32],
        input: &Tensor4<'_, f32>,
        output: &mut Tensor4Mut<'_, f32>,
        activation: Activation<f32>,
    ) -> Result<()> {
        let p = &self.params;
        let [n, c, h, w] = input.sizes();
        let [oh, ow] = p.transposed_out_size([h, w], self.output_padding)?;
        let expected = [n, p.out_channels, oh, ow];
        if c != p.in_channels || output.sizes() != expected {
            return Err(Error::new(format!(
                "transposed convolution: an input of {} channels gives {expected:?}, but the input \
                 has {c} channels and the output is {:?}",
                p.in_channels,
                output.sizes()
            )));
        }
        output.check_disjoint()?;
        let need = self.scratch_len(input.sizes(), pool)?;
        if scratch.len() < need {
            return Err(Error::new(format!(
                "transposed convolution: {need} elements of scratch are needed, got {}",
                scratch.len()
            )));
        }
        if expected.contains(&0) {
            return Ok(());
        }
        let post = Post::new(activation);
        let bias = self.bytes.elements::<f32>(Header::LEN, p.out_channels)?;
        let [parts_len, rest] = self.scratch_parts(input.sizes(), pool)?;
        let (parts, scratch) = scratch.split_at_mut(parts_len);
        let (scratch, copied) = scratch.split_at_mut(rest);
        let (ins, outs, pixels) = (p.in_group(), p.out_group(), h * w);
        let in_strides = input.strides();
        let out_strides = output.strides();
        let even = h == 1 || in_strides[2] == w * in_strides[3];
        let taps = p.kernel[0] * p.kernel[1];
        for (image, group) in (0..n).flat_map(|image| (0..p.groups).map(move |g| (image, g))) {
            let start = image * in_strides[0] + group * ins * in_strides[1];
            let view = if even {
                let strides = [in_strides[1], in_strides[3]];
                Matrix::new(&input.data()[start..], [ins, pixels], strides)?
            } else {
                for (at, value) in copied[..ins * pixels].iter_mut().enumerate() {
                    let (ic, y, x) = (at / pixels, at % pixels / w, at % w);
                    let from = ic * in_strides[1] + y * in_strides[2] + x * in_strides[3];
                    *value = input.data()[start + from];
                }
                Matrix::row_major(&copied[..ins * pixels], ins, pixels)?
            };
            let to = MatrixMut::row_major(parts, outs * taps, pixels)?;
            self.product(group, view).run(pool, scratch, to)?;
            let threads = pool::useful_threads(pool, 4 * outs * taps * pixels);
            let tasks = if threads == 1 { 1 } else { (threads * TASKS_PER_THREAD).min(outs) };
            let out = Shared::new(output.data);
            let parts = &*parts;
            pool::run(pool, tasks, &|task| {
                for o in pool::part(outs, tasks, task) {
                    let oc = group * outs + o;
                    let from = &parts[o * taps * pixels..(o + 1) * taps * pixels];
                    let at = image * out_strides[0] + oc * out_strides[1];
                    let channel = Channel {
                        to: out.get().wrapping_add(at),
                        strides: [out_strides[2], out_strides[3]],
                        size: [oh, ow],
                        in_size: [h, w],
                    };
                    // SAFETY: the output was checked, and this channel is this task's alone.
                    unsafe { channel.add_up(p, from, bias[oc], post) };
                }
            });
        }
        Ok(())
    }

    /// What this convolution is.
    pub fn params(&self) -> &ConvParams {
        &self.params
    }
}

/// One output channel.
struct Channel {
    to: *mut f32,
    strides: [usize; 2],
    size: [usize; 2],
    in_size: [usize; 2],
}

impl Channel {
    /// Adds what each tap of each input pixel contributes (`[taps, pixels]`) to the bias.
    ///
    /// # Safety
    /// The channel lies in a checked output that nobody else touches.
    unsafe fn add_up(&self, p: &ConvParams, from: &[f32], bias: f32, post: Post<f32>) {
        let [oh, ow] = self.size;
        let [h, w] = self.in_size;
        let [y_stride, x_stride] = self.strides;
        // SAFETY: every `(y, x)` below is tested against, or built from, the channel's size.
        unsafe {
            for y in 0..oh {
                for x in 0..ow {
                    *self.to.add(y * y_stride + x * x_stride) = bias;
                }
            }
            let taps = (0..p.kernel[0]).flat_map(|y| (0..p.kernel[1]).map(move |x| (y, x)));
            for ((ky, kx), tap) in taps.zip(from.chunks_exact(h * w)) {
                let dx = kx * p.dilation[1];
                let left = p.padding[1][0];
                // Input columns whose output column exists.
                let low = left.saturating_sub(dx).div_ceil(p.stride[1]).min(w);
                let high = (ow + left).saturating_sub(dx).div_ceil(p.stride[1]).clamp(low, w);
                if low == high {
                    continue;
                }
                let first = low * p.stride[1] + dx - left;
                for (iy, row) in tap.chunks_exact(w).enumerate() {
                    let y = (iy * p.stride[0] + ky * p.dilation[0]).wrapping_sub(p.padding[0][0]);
                    if y >= oh {
                        continue;
                    }
                    let to = self.to.add(y * y_stride + first * x_stride);
                    for (i, value) in row[low..high].iter().enumerate() {
                        *to.add(i * p.stride[1] * x_stride) += value;
                    }
                }
            }
            if !matches!(post, Post::None) {
                for y in 0..oh {
                    for x in 0..ow {
                        let value = &mut *self.to.add(y * y_stride + x * x_stride);
                        *value = post.apply(*value);
                    }
                }
            }
        }
    }
}
