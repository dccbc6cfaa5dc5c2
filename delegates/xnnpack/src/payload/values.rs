//! Tensors of a payload: shape, elements, where they come from.

use super::constants::{self, Constants};
use super::{NO_VALUE, invalid};
use crate::graph::*;
use executorch_abi::Result;
use executorch_schema::xnnpack as fb;
use std::collections::HashMap;

/// A vector of tables.
pub type List<'a, T> = flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<T>>;

const EXTERNAL_INPUT: u32 = 1;
const EXTERNAL_OUTPUT: u32 = 2;

/// Zero point of all 4-bit weights: stored numbers are 0 to 15.
const ZERO_POINT_4_BIT: i32 = 8;

/// Values, and what of a graph follows from them alone.
pub struct Values {
    /// In the payload's order; what old payloads imply stands after what implies it.
    pub values: Vec<Value>,
    /// By the payload's ids.
    pub ids: HashMap<u32, ValueId>,
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    pub arguments: usize,
    /// Floating point inputs and their dynamically quantised twins, which nodes of old payloads read in their place.
    pub quantised: Vec<(ValueId, ValueId)>,
}

/// Reads all values. `size` is that of the structure.
pub fn read(
    list: List<'_, fb::Value<'_>>,
    arguments: u32,
    mut constants: Constants<'_>,
    size: usize,
) -> Result<Values> {
    // A list can name one table often: what is taken in advance depends on the bytes that distinct ones have.
    let likely = list.len().min(size / 32);
    let mut all = Values {
        values: Vec::with_capacity(likely),
        ids: HashMap::with_capacity(likely),
        inputs: Vec::new(),
        outputs: Vec::new(),
        arguments: arguments as usize,
        quantised: Vec::new(),
    };
    let mut owners = vec![None; all.arguments];
    for (i, value) in list.iter().enumerate() {
        let (table, parameters) = match value.xvalue_union_type() {
            fb::ValueUnion::TensorValue => (value.xvalue_union_as_tensor_value(), None),
            fb::ValueUnion::QuantizedTensorValue => {
                let quantized = value.xvalue_union_as_quantized_tensor_value();
                (quantized.and_then(|q| q.tensor_value()), quantized)
            }
            other => {
                return Err(invalid(format!("value number {i} is of kind {}, which is not known", other.0)));
            }
        };
        let table = table.ok_or_else(|| invalid(format!("value number {i} has no tensor")))?;
        let id = table.id_out();
        all.add(table, parameters, &mut constants, &mut owners)
            .map_err(|e| e.within(format!("value {id} (number {i})")))?;
    }
    Ok(all)
}

impl Values {
    fn add(
        &mut self,
        table: fb::TensorValue<'_>,
        quantized: Option<fb::QuantizedTensorValue<'_>>,
        constants: &mut Constants<'_>,
        owners: &mut [Option<u32>],
    ) -> Result<()> {
        let id = table.id_out();
        if id == NO_VALUE {
            return Err(invalid("its id stands for a value that is not there"));
        }
        let dims = dims(table)?;
        let element = element(table, quantized, &dims, constants)?;
        let datatype = element.datatype();
        let bytes = datatype.byte_size(&dims).ok_or_else(|| {
            invalid(format!("{} of shape {dims:?} has more bytes than can be addressed", datatype.name()))
        })?;
        let role = role(table, bytes, constants, owners)?;
        check_role(datatype, &role)?;
        let place = self.push(Value { dims, element, role, serialized_id: id });
        let seen_as =
            if table.dq_datatype() == fb::Datatype::INVALID { place } else { self.quantise(place, table)? };
        if self.ids.insert(id, seen_as).is_some() {
            return Err(invalid("another value has the same id"));
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> ValueId {
        // Fewer than the structure has bytes, which the payload's format keeps below 2^32.
        let place = ValueId(self.values.len() as u32);
        match value.role {
            Role::Input(_) => self.inputs.push(place),
            Role::Output(_) => self.outputs.push(place),
            Role::Internal | Role::Constant(_) => {}
        }
        self.values.push(value);
        place
    }

    /// What an old payload means by an input that it marks for dynamic quantisation: a value of its own, made from the
    /// input by a node of its own.
    fn quantise(&mut self, input: ValueId, table: fb::TensorValue<'_>) -> Result<ValueId> {
        if table.dq_datatype() != fb::Datatype::QINT8 {
            let found = datatype_name(table.dq_datatype());
            return Err(invalid(format!("it is to be quantised dynamically to {found}, expected qint8")));
        }
        let value = self.values.get(input.index()).ok_or_else(|| invalid("it is lost"))?;
        if !(matches!(value.role, Role::Input(_))
            && value.element.datatype().is_float()
            && !value.dims.is_empty())
        {
            return Err(invalid(
                "it is to be quantised dynamically, which is for floating point inputs with dimensions only",
            ));
        }
        let twin = Value {
            dims: value.dims.clone(),
            element: Element::QDInt8 { nonbatch_dims: 1 },
            role: Role::Internal,
            serialized_id: value.serialized_id,
        };
        let twin = self.push(twin);
        self.quantised.push((input, twin));
        Ok(twin)
    }
}

fn dims(table: fb::TensorValue<'_>) -> Result<Dims> {
    let (rank, sizes) = (table.num_dims(), table.dims().unwrap_or_default());
    if rank as usize != sizes.len() {
        return Err(invalid(format!("it has {} sizes, expected num_dims, which is {rank}", sizes.len())));
    }
    small(sizes).ok_or_else(|| invalid(format!("it has {rank} dimensions, at most {MAX_RANK} are allowed")))
}

/// Numbers for dimensions, unless there are too many.
pub fn small(list: flatbuffers::Vector<'_, u32>) -> Option<Dims> {
    (list.len() <= MAX_RANK).then(|| list.iter().map(|size| size as usize).collect())
}

/// Where a value comes from; for a constant, its `bytes` bytes.
fn role(
    table: fb::TensorValue<'_>,
    bytes: usize,
    constants: &mut Constants<'_>,
    owners: &mut [Option<u32>],
) -> Result<Role> {
    let (argument, flags, constant) = (table.external_id(), table.flags(), table.constant_buffer_idx());
    let role = match (argument, flags, constant) {
        (NO_VALUE, 0, 0) => return Ok(Role::Internal),
        (NO_VALUE, 0, _) => {
            let found = constants.get(constant)?;
            if found.size() != bytes {
                return Err(invalid(format!(
                    "its shape needs {bytes} bytes, but constant {constant} has {}",
                    found.size()
                )));
            }
            return Ok(Role::Constant(found));
        }
        (NO_VALUE, ..) => return Err(invalid(format!("its flags are {flags:#x}, but it is no argument"))),
        (_, EXTERNAL_INPUT, 0) => Role::Input(argument as usize),
        (_, EXTERNAL_OUTPUT, 0) => Role::Output(argument as usize),
        (_, EXTERNAL_INPUT | EXTERNAL_OUTPUT, _) => {
            return Err(invalid(format!("it is both argument {argument} and constant {constant}")));
        }
        _ => {
            return Err(invalid(format!(
                "it is argument {argument} with the flags {flags:#x}, expected 1 for an input or 2 for an output"
            )));
        }
    };
    let count = owners.len();
    match owners.get_mut(argument as usize) {
        None => Err(invalid(format!("it is argument {argument}, but there are {count}"))),
        Some(Some(other)) => Err(invalid(format!("it is argument {argument}, and so is value {other}"))),
        Some(free) => {
            *free = Some(table.id_out());
            Ok(role)
        }
    }
}

/// What has scales for parts of it is a weight or bias; what is quantised dynamically lives between nodes.
fn check_role(datatype: Datatype, role: &Role) -> Result<()> {
    use Datatype::*;
    let found = match role {
        Role::Input(_) => "an input",
        Role::Output(_) => "an output",
        Role::Internal => "made by a node",
        Role::Constant(_) => "a constant",
    };
    let expected = match (datatype, role) {
        (QCInt8 | QCInt32 | QCInt4 | QBInt4, Role::Input(_) | Role::Output(_) | Role::Internal) => {
            "a constant"
        }
        (QDInt8 | QPInt8, Role::Input(_) | Role::Output(_) | Role::Constant(_)) => "made by a node",
        _ => return Ok(()),
    };
    Err(invalid(format!("it is {} and {found}, expected {expected}", datatype.name())))
}

/// The payload's name of a datatype.
fn datatype_name(datatype: fb::Datatype) -> String {
    datatype.variant_name().map_or_else(|| format!("datatype {}", datatype.0), str::to_lowercase)
}

fn element(
    table: fb::TensorValue<'_>,
    quantized: Option<fb::QuantizedTensorValue<'_>>,
    dims: &Dims,
    constants: &mut Constants<'_>,
) -> Result<Element> {
    let datatype = table.datatype();
    let Some(quantized) = quantized else {
        return match datatype {
            fb::Datatype::FP32 => Ok(Element::Float32),
            fb::Datatype::FP16 => Ok(Element::Float16),
            fb::Datatype::BF16 => Ok(Element::BFloat16),
            fb::Datatype::INT32 => Ok(Element::Int32),
            other => Err(invalid(format!(
                "it is {} without scales, expected fp32, fp16, bf16 or int32",
                datatype_name(other)
            ))),
        };
    };
    let mismatch = |kind: &str, expected: &str| {
        Err(invalid(format!("it is {} with {kind}, expected {expected}", datatype_name(datatype))))
    };
    match quantized.quant_params_type() {
        fb::QuantParams::PerTensorQuant => {
            let table = quantized.quant_params_as_per_tensor_quant().ok_or_else(no_parameters)?;
            constants::check(&[table.scale()])?;
            let affine = Affine { scale: table.scale(), zero_point: table.zero_point() };
            let (element, range) = match datatype {
                fb::Datatype::QINT8 => (Element::QInt8(affine), -128..=127),
                fb::Datatype::QUINT8 => (Element::QUInt8(affine), 0..=255),
                fb::Datatype::QINT32 => (Element::QInt32(affine), 0..=0),
                _ => return mismatch("one scale", "qint8, quint8 or qint32"),
            };
            if !range.contains(&affine.zero_point) {
                let (least, most) = range.into_inner();
                return Err(invalid(format!(
                    "its zero point is {}, expected {least} to {most}",
                    affine.zero_point
                )));
            }
            Ok(element)
        }
        fb::QuantParams::PerChannelQuant => {
            let (make, zero_point): (fn(PerChannel) -> Element, _) = match datatype {
                fb::Datatype::QCINT8 => (Element::QCInt8, 0),
                fb::Datatype::QCINT32 => (Element::QCInt32, 0),
                fb::Datatype::QCINT4 => (Element::QCInt4, ZERO_POINT_4_BIT),
                _ => return mismatch("a scale for each channel", "qcint8, qcint32 or qcint4"),
            };
            let table = quantized.quant_params_as_per_channel_quant().ok_or_else(no_parameters)?;
            let (dim, channels) = channel_dim(table.channel_dim(), dims)?;
            let index = table.scale_buffer_idx();
            expect_scales(index, table.num_scales(), channels)?;
            let scales =
                constants.scales(index, table.scale(), channels).map_err(|e| e.within("its scales"))?;
            Ok(make(PerChannel { scales, dim, zero_point }))
        }
        fb::QuantParams::PerChannelGroupQuant => {
            if datatype != fb::Datatype::QBINT4 {
                return mismatch("scales for groups", "qbint4");
            }
            let table = quantized.quant_params_as_per_channel_group_quant().ok_or_else(no_parameters)?;
            per_group(table, dims, constants)
        }
        fb::QuantParams::PerTokenDynamicQuant => {
            let table = quantized.quant_params_as_per_token_dynamic_quant().ok_or_else(no_parameters)?;
            let found = table.num_nonbatch_dims();
            let nonbatch_dims = usize::try_from(found).ok().filter(|n| (1..=dims.len()).contains(n));
            let nonbatch_dims = nonbatch_dims.ok_or_else(|| {
                invalid(format!("{found} of its {} dimensions share a scale, expected 1 to all", dims.len()))
            })?;
            match datatype {
                fb::Datatype::QDINT8 => Ok(Element::QDInt8 { nonbatch_dims }),
                fb::Datatype::QPINT8 => Ok(Element::QPInt8 { nonbatch_dims }),
                _ => mismatch("dynamic scales", "qdint8 or qpint8"),
            }
        }
        other => Err(invalid(format!("its quantisation is of kind {}, which is not known", other.0))),
    }
}

fn no_parameters() -> executorch_abi::Error {
    invalid("its quantisation has no parameters")
}

fn channel_dim(found: i32, dims: &Dims) -> Result<(usize, usize)> {
    usize::try_from(found).ok().and_then(|dim| Some((dim, *dims.get(dim)?))).ok_or_else(|| {
        invalid(format!("its scales lie along dimension {found}, but it has {} dimensions", dims.len()))
    })
}

/// The number of scales, which only a payload that keeps them outside says.
fn expect_scales(index: u32, found: u32, expected: usize) -> Result<()> {
    if index == 0 || found as usize == expected {
        return Ok(());
    }
    Err(invalid(format!("it says that it has {found} scales, expected {expected}")))
}

fn per_group(
    table: fb::PerChannelGroupQuant<'_>,
    dims: &Dims,
    constants: &mut Constants<'_>,
) -> Result<Element> {
    let &[outputs, inputs] = dims.as_slice() else {
        return Err(invalid(format!("it has scales for groups and {} dimensions, expected 2", dims.len())));
    };
    if table.channel_dim() != 0 {
        return Err(invalid(format!(
            "its scales for groups lie along dimension {}, expected 0",
            table.channel_dim()
        )));
    }
    let found = table.group_size();
    let group_size = usize::try_from(found).ok().filter(|&size| size > 0 && inputs.is_multiple_of(size));
    let group_size = group_size.ok_or_else(|| {
        invalid(format!("its groups have {found} elements, expected a positive number that divides {inputs}"))
    })?;
    let count = outputs.checked_mul(inputs / group_size).ok_or_else(|| {
        invalid(format!("the number of its groups overflows ({outputs} times {inputs} elements)"))
    })?;
    let index = table.scale_buffer_idx();
    expect_scales(index, table.num_scales(), count)?;
    let scales = constants.group_scales(index, table.scale(), count).map_err(|e| e.within("its scales"))?;
    Ok(Element::QBInt4(PerGroup { scales, dim: 0, group_size, zero_point: ZERO_POINT_4_BIT }))
}
