//! What packed weights depend on, and where the parts of their bytes lie: a header, the bias in whole
//! lines, and the weights as the algorithm wants them.

use super::{ConvParams, ConvWeight, Layout, Plan, Weight};
use crate::error::{Error, Result, extent};
use crate::isa::Isa;
use crate::pack::line;
use crate::pool::Pool;
use crate::store::{Header, Kind, blob_len, elements_mut};

/// What the packed form of a convolution's weights depends on, besides their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvPacking {
    /// The convolution.
    pub params: ConvParams,
    /// The order of dimensions of its outputs.
    pub layout: Layout,
    /// The instruction set that will run it.
    pub isa: Isa,
}

impl ConvPacking {
    /// For the process's instruction set.
    pub fn new(params: ConvParams, layout: Layout) -> Self {
        Self { params, layout, isa: Isa::active() }
    }

    /// Bytes of the packed weights and bias.
    pub fn packed_len(&self) -> Result<usize> {
        self.params.check()?;
        let weights = Plan::new(self)?.algorithm().packed_len(&self.params)?;
        let elements = weights.checked_add(bias_len(&self.params));
        blob_len::<f32>(elements.ok_or_else(|| Error::new("convolution: packed weights overflow"))?)
    }

    /// Packs weights `[OC, IC / groups, KH, KW]` of any strides, and the bias (none means 0), into `to`,
    /// of [`ConvPacking::packed_len`] bytes that start on a multiple of [`crate::PACKED_ALIGNMENT`]. On
    /// an error `to` is unchanged.
    pub fn pack_into(
        &self,
        weight: ConvWeight<'_, f32>,
        bias: Option<&[f32]>,
        pool: &dyn Pool,
        to: &mut [u8],
    ) -> Result<()> {
        let params = &self.params;
        params.check()?;
        let sizes = [params.out_channels, params.in_group(), params.kernel[0], params.kernel[1]];
        let weight = Weight::new("convolution", weight, sizes)?;
        check_bias(params, bias)?;
        let plan = Plan::new(self)?;
        self.header()?.write(to)?;
        let (biases, weights) = elements_mut::<f32>(to)?.split_at_mut(bias_len(params));
        write_bias(bias, biases);
        plan.algorithm().pack(params, &weight, pool, weights);
        Ok(())
    }

    pub(super) fn header(&self) -> Result<Header> {
        let layout = match self.layout {
            Layout::ChannelsFirst => 1,
            Layout::ChannelsLast => 2,
        };
        let numbers: Vec<usize> = self.params.numbers().chain([layout]).collect();
        Ok(Header::new::<f32>(Kind::Conv, self.isa, self.packed_len()?, &numbers))
    }
}

impl ConvParams {
    /// Everything, as numbers, for a header.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        [self.in_channels, self.out_channels, self.groups]
            .into_iter()
            .chain(self.kernel)
            .chain(self.stride)
            .chain(self.padding.into_iter().flatten())
            .chain(self.dilation)
    }
}

impl<'a> Weight<'a> {
    /// Weights of these sizes, all of whose elements exist.
    pub(super) fn new(what: &str, weight: ConvWeight<'a, f32>, sizes: [usize; 4]) -> Result<Self> {
        let need = extent("convolution weight", &sizes, &weight.strides)?;
        if need > weight.data.len() {
            return Err(Error::new(format!(
                "{what}: weight {sizes:?} with strides {:?} needs {need} elements, got {}",
                weight.strides,
                weight.data.len()
            )));
        }
        Ok(Self { data: weight.data, strides: weight.strides })
    }
}

impl Weight<'_> {
    /// All of one output channel's weights, in the order of the layout.
    pub(super) fn row(&self, p: &ConvParams, layout: Layout, oc: usize, to: &mut [f32]) {
        let [o, i, h, w] = self.strides;
        let ([height, width], ins) = (p.kernel, p.in_group());
        let (sizes, strides) = match layout {
            Layout::ChannelsFirst => ([ins, height, width], [i, h, w]),
            Layout::ChannelsLast => ([height, width, ins], [h, w, i]),
        };
        let mut rows = to.chunks_exact_mut(sizes[2]);
        for a in 0..sizes[0] {
            for b in 0..sizes[1] {
                let Some(row) = rows.next() else { return };
                let from = &self.data[oc * o + a * strides[0] + b * strides[1]..];
                if strides[2] == 1 {
                    row.copy_from_slice(&from[..sizes[2]]);
                } else {
                    row.iter_mut().enumerate().for_each(|(c, value)| *value = from[c * strides[2]]);
                }
            }
        }
    }

    /// If each output channel's weights lie in channels-last order, one after the other: how far apart
    /// the output channels are.
    pub(super) fn rows_in_order(&self, p: &ConvParams) -> Option<usize> {
        let ([height, width], ins) = (p.kernel, p.in_group());
        let [row, i, h, w] = self.strides;
        let in_order = (ins == 1 || i == 1) && (width == 1 || w == ins) && (height == 1 || h == ins * width);
        in_order.then_some(row)
    }
}

/// Elements that the bias takes, in whole lines.
pub(super) fn bias_len(params: &ConvParams) -> usize {
    params.out_channels.next_multiple_of(line::<f32>())
}

/// Fails unless there is a bias for each output channel, or none.
pub(super) fn check_bias(params: &ConvParams, bias: Option<&[f32]>) -> Result<()> {
    match bias {
        Some(bias) if bias.len() != params.out_channels => Err(Error::new(format!(
            "convolution: {} output channels need as many biases, got {}",
            params.out_channels,
            bias.len()
        ))),
        _ => Ok(()),
    }
}

/// Writes a checked bias, and zeros after it.
pub(super) fn write_bias(bias: Option<&[f32]>, to: &mut [f32]) {
    let bias = bias.unwrap_or_default();
    let (values, rest) = to.split_at_mut(bias.len());
    values.copy_from_slice(bias);
    rest.fill(0.0);
}
