//! Convolution: descriptions, checks, and the choice of algorithm.
//!
//! One-dimensional convolutions are two-dimensional ones of height 1. Weights are packed once, for
//! the layout that the output will have:
//!
//! | | channels first | channels last |
//! |---|---|---|
//! | depthwise | `planes` | `strips` |
//! | others | `patches` | `in_place` |

mod call;
mod general;
mod in_place;
mod packing;
mod patches;
mod planes;
mod stage;
mod strips;
mod tensor;
mod transposed;

pub use general::{ConvWeight, general_conv, general_conv_transposed};
pub use packing::ConvPacking;
pub use tensor::{Tensor4, Tensor4Mut};
pub use transposed::{PackedConvTransposed, TransposedPacking};

use crate::error::{Error, Result, product};
use crate::gemm::Activation;
use crate::micro::Post;
use crate::pool::{Pool, Serial, Shared};
use crate::store::{Header, PackedBytes};
use call::{Algorithm, Call};
use in_place::InPlace;
use packing::bias_len;
use patches::Patches;
use planes::Planes;
use strips::Strips;
use tensor::ordered_strides;

/// The order of dimensions that an output has in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `N, C, H, W`: the pixels of a channel are contiguous.
    ChannelsFirst,
    /// `N, H, W, C`: the channels of a pixel are contiguous.
    ChannelsLast,
}

/// Everything about a convolution but its numbers. Pairs are `[height, width]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvParams {
    /// Channels of the input.
    pub in_channels: usize,
    /// Channels of the output.
    pub out_channels: usize,
    /// Groups that the channels are divided into.
    pub groups: usize,
    /// Size of the kernel.
    pub kernel: [usize; 2],
    /// Input elements between neighbouring outputs.
    pub stride: [usize; 2],
    /// Zeros `[before, after]` the input, for each dimension.
    pub padding: [[usize; 2]; 2],
    /// Input elements between neighbouring kernel elements.
    pub dilation: [usize; 2],
}

impl ConvParams {
    /// A convolution without padding, of stride, dilation and groups 1.
    pub fn new(in_channels: usize, out_channels: usize, kernel: [usize; 2]) -> Self {
        Self {
            in_channels,
            out_channels,
            groups: 1,
            kernel,
            stride: [1; 2],
            padding: [[0; 2]; 2],
            dilation: [1; 2],
        }
    }

    /// Fails, saying why, if no input could be convolved so.
    pub fn check(&self) -> Result<()> {
        let positive = |what: &str, pair: [usize; 2]| {
            if pair.contains(&0) {
                return Err(Error::new(format!("convolution: {what} {pair:?} must be positive")));
            }
            Ok(())
        };
        positive("kernel", self.kernel)?;
        positive("stride", self.stride)?;
        positive("dilation", self.dilation)?;
        let divides = |channels: usize| self.groups != 0 && channels.is_multiple_of(self.groups);
        if !divides(self.in_channels) || !divides(self.out_channels) || self.in_channels == 0 {
            return Err(Error::new(format!(
                "convolution: {} groups do not divide {} input and {} output channels",
                self.groups, self.in_channels, self.out_channels
            )));
        }
        product("convolution weight", &[self.out_channels, self.depth()?])?;
        Ok(())
    }

    /// Products summed for each output.
    fn depth(&self) -> Result<usize> {
        let [height, width] = self.kernel;
        product("convolution kernel", &[self.in_channels / self.groups, height, width])
    }

    /// Height and width of the output for an input of this height and width.
    pub fn out_size(&self, input: [usize; 2]) -> Result<[usize; 2]> {
        let mut out = [0; 2];
        for d in 0..2 {
            let [before, after] = self.padding[d];
            let padded = input[d].checked_add(before).and_then(|s| s.checked_add(after));
            let reach = self.dilation[d].checked_mul(self.kernel[d] - 1);
            let (Some(padded), Some(reach)) = (padded, reach) else {
                return Err(Error::new("convolution: padded input or kernel overflows"));
            };
            if padded <= reach || isize::try_from(padded).is_err() {
                return Err(Error::new(format!(
                    "convolution: a kernel reaching over {reach} elements does not fit an input of \
                     {} padded to {padded}",
                    input[d]
                )));
            }
            out[d] = (padded - reach - 1) / self.stride[d] + 1;
        }
        Ok(out)
    }

    fn in_group(&self) -> usize {
        self.in_channels / self.groups
    }

    fn out_group(&self) -> usize {
        self.out_channels / self.groups
    }
}

/// A convolution whose weights and bias are packed: [`PackedConv::run`] applies it to images.
#[derive(Debug, Clone)]
pub struct PackedConv {
    packing: ConvPacking,
    bytes: PackedBytes,
    plan: Plan,
}

/// What is done to the sums of a convolution before they are stored:
/// `out = activation(conv + bias + residual)`.
#[derive(Debug, Clone, Copy)]
pub struct Epilogue<'a> {
    /// What is added, of the output's sizes. Its strides are bound as the output's; it is for
    /// convolutions packed for [`Layout::ChannelsLast`].
    pub residual: Option<Tensor4<'a, f32>>,
    /// What is applied last.
    pub activation: Activation<f32>,
}

impl From<Activation<f32>> for Epilogue<'_> {
    fn from(activation: Activation<f32>) -> Self {
        Self { residual: None, activation }
    }
}

/// The algorithms.
#[derive(Debug, Clone, Copy)]
enum Plan {
    Patches(Patches),
    Planes(Planes),
    InPlace(InPlace),
    Strips(Strips),
}

impl Plan {
    fn new(packing: &ConvPacking) -> Result<Self> {
        if let Some(plan) = Strips::new(packing)? {
            return Ok(Plan::Strips(plan));
        }
        if let Some(plan) = Planes::new(packing)? {
            return Ok(Plan::Planes(plan));
        }
        if let Some(plan) = InPlace::new(packing)? {
            return Ok(Plan::InPlace(plan));
        }
        Patches::new(packing).map(Plan::Patches)
    }

    fn algorithm(&self) -> &dyn Algorithm {
        match self {
            Plan::Patches(plan) => plan,
            Plan::Planes(plan) => plan,
            Plan::InPlace(plan) => plan,
            Plan::Strips(plan) => plan,
        }
    }
}

impl PackedConv {
    /// Packs weights `[OC, IC / groups, KH, KW]`, which lie at these strides, for outputs of this
    /// layout, for the process's instruction set, on this thread. No bias means 0.
    pub fn new(
        params: ConvParams,
        layout: Layout,
        weight: &[f32],
        weight_strides: [usize; 4],
        bias: Option<&[f32]>,
    ) -> Result<Self> {
        let weight = ConvWeight { data: weight, strides: weight_strides };
        Self::pack(ConvPacking::new(params, layout), weight, bias, &Serial)
    }

    /// Packs weights `[OC, IC / groups, KH, KW]` of any strides on the threads of a pool. No bias means
    /// 0. Fails if this CPU lacks the instruction set.
    pub fn pack(
        packing: ConvPacking,
        weight: ConvWeight<'_, f32>,
        bias: Option<&[f32]>,
        pool: &dyn Pool,
    ) -> Result<Self> {
        let len = packing.packed_len()?;
        let bytes = PackedBytes::build(len, |to| packing.pack_into(weight, bias, pool, to))?;
        Self::from_bytes(packing, bytes)
    }

    /// A convolution whose weights were packed before, in this process or another. Fails if this CPU
    /// lacks the instruction set, or if the bytes were packed for anything else. Values are not checked.
    pub fn from_bytes(packing: ConvPacking, bytes: PackedBytes) -> Result<Self> {
        packing.header()?.check(bytes.get()?)?;
        Ok(Self { packing, bytes, plan: Plan::new(&packing)? })
    }

    /// What [`PackedConv::from_bytes`] takes.
    pub fn bytes(&self) -> &PackedBytes {
        &self.bytes
    }

    /// What the weights are packed for.
    pub fn packing(&self) -> &ConvPacking {
        &self.packing
    }

    /// What this convolution is.
    pub fn params(&self) -> &ConvParams {
        &self.packing.params
    }

    /// Elements of scratch that [`PackedConv::run`] needs for an input `[N, C, H, W]` of these sizes.
    pub fn scratch_len(&self, input: [usize; 4], pool: &dyn Pool) -> Result<usize> {
        let [images, _, height, width] = input;
        self.plan.algorithm().scratch_len(&self.packing.params, images, [height, width], pool)
    }

    /// Convolves `input` into `output`. `scratch` has at least [`PackedConv::scratch_len`] elements,
    /// of any value; nothing is allocated. On an error `output` is unchanged.
    ///
    /// The output's strides must be those of the layout packed for (the stride over images, and the
    /// one over whole channels or pixels, may be larger); the input's may be any. An [`Activation`] is
    /// an epilogue.
    pub fn run<'a>(
        &self,
        pool: &dyn Pool,
        scratch: &mut [f32],
        input: &Tensor4<'_, f32>,
        output: &mut Tensor4Mut<'_, f32>,
        epilogue: impl Into<Epilogue<'a>>,
    ) -> Result<()> {
        let epilogue = epilogue.into();
        let params = &self.packing.params;
        let [n, c, h, w] = input.sizes();
        if c != params.in_channels {
            return Err(Error::new(format!(
                "convolution: expected {} input channels, got {c}",
                params.in_channels
            )));
        }
        let [oh, ow] = params.out_size([h, w])?;
        let expected = [n, params.out_channels, oh, ow];
        if output.sizes() != expected {
            return Err(Error::new(format!(
                "convolution: the output is {expected:?}, but {:?} was given",
                output.sizes()
            )));
        }
        output.check_layout(self.packing.layout)?;
        let residual_strides = match &epilogue.residual {
            Some(residual) => self.check_residual(residual, expected)?,
            None => [0; 4],
        };
        if expected.contains(&0) {
            return Ok(());
        }
        let (bias_len, plan) = (bias_len(params), self.plan.algorithm());
        let start = Header::LEN + bias_len * size_of::<f32>();
        let out_strides = output.strides();
        let call = Call {
            p: params,
            bias: self.bytes.elements(Header::LEN, bias_len)?,
            weight: self.bytes.elements(start, plan.packed_len(params)?)?,
            images: n,
            input: Shared::from_const(input.data().as_ptr()),
            size: [h, w],
            in_strides: input.strides(),
            out: Shared::new(output.data),
            out_size: [oh, ow],
            out_strides,
            residual: Shared::from_const(epilogue.residual.map_or(std::ptr::null(), |r| r.data().as_ptr())),
            residual_strides,
            post: Post::new(epilogue.activation),
        };
        plan.run(&call, pool, scratch)
    }

    /// The strides of a residual that fits the output.
    fn check_residual(&self, residual: &Tensor4<'_, f32>, expected: [usize; 4]) -> Result<[usize; 4]> {
        if self.packing.layout != Layout::ChannelsLast || residual.sizes() != expected {
            return Err(Error::new(format!(
                "convolution: a residual is added to outputs with channels last, and has their sizes \
                 {expected:?}; this one has {:?}, for outputs in {:?} order",
                residual.sizes(),
                self.packing.layout
            )));
        }
        ordered_strides("a residual", expected, residual.strides(), Layout::ChannelsLast)
    }
}

/// Checked weights `[OC, IC / groups, KH, KW]`.
struct Weight<'a> {
    data: &'a [f32],
    strides: [usize; 4],
}

impl Weight<'_> {
    fn get(&self, oc: usize, ic: usize, y: usize, x: usize) -> f32 {
        let [o, i, h, w] = self.strides;
        self.data[oc * o + ic * i + y * h + x * w]
    }
}
