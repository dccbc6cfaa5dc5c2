//! Which elements a node can take and make.
//!
//! What is refused has no meaning. Whether there is a kernel for what is left is the business of who runs it.

use super::invalid;
use crate::graph::*;
use arrayvec::ArrayVec;
use executorch_abi::Result;

/// Checks a node's elements, scales and constants.
pub fn check(node: &Node, values: &[Value]) -> Result<()> {
    let of = |id: &ValueId| values.get(id.index()).ok_or_else(|| invalid("an operand is lost"));
    let inputs: ArrayVec<&Value, 5> = node.inputs.iter().map(of).collect::<Result<_>>()?;
    let outputs: ArrayVec<&Value, 2> = node.outputs.iter().map(of).collect::<Result<_>>()?;
    let (Some(x), Some(output)) = (inputs.first(), outputs.first()) else {
        return Err(invalid("it has no operands"));
    };
    match &node.op {
        Op::Unary(Unary::Abs | Unary::Clamp | Unary::Negate | Unary::Square) => same(&inputs, output, plain),
        Op::Unary(_) | Op::PRelu => same(&inputs, output, real),
        Op::Binary(_) => same(&inputs, output, plain),
        Op::Softmax => same(&inputs, output, Datatype::is_float),
        Op::AveragePool(_) | Op::GlobalAveragePool { .. } => same(&inputs, output, real),
        Op::MaxPool(_) | Op::Resize { .. } => {
            same(&inputs, output, real).and_then(|()| keeps_scale(&inputs, output))
        }
        Op::Copy | Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. } | Op::Concatenate { .. } => {
            same(&inputs, output, plain).and_then(|()| keeps_scale(&inputs, output))
        }
        Op::Pad { value, .. } => {
            same(&inputs, output, plain)?;
            keeps_scale(&inputs, output)?;
            if output.element.datatype().is_float() || value.is_finite() {
                return Ok(());
            }
            Err(invalid(format!(
                "padding_value is {value}, which {} cannot hold",
                output.element.datatype().name()
            )))
        }
        Op::ArgMaxPool(_) => match outputs.get(1).map(|index| index.element.datatype()) {
            Some(Datatype::Int32) => same(&inputs, output, Datatype::is_float),
            _ => Err(mismatch(&inputs, &outputs, "the places of the maxima as int32")),
        },
        Op::Convert => convert(x, output),
        Op::BatchMatrixMultiply => product(&inputs, output),
        Op::FullyConnected | Op::Convolution(_) | Op::Depthwise(_) | Op::Transposed { .. } => {
            weighted(node, &inputs, output)
        }
    }
}

/// Numbers that stand for themselves or have one scale.
fn plain(datatype: Datatype) -> bool {
    real(datatype) || datatype == Datatype::Int32
}

/// The same without integers.
fn real(datatype: Datatype) -> bool {
    datatype.is_float() || matches!(datatype, Datatype::QInt8 | Datatype::QUInt8)
}

fn mismatch(inputs: &[&Value], outputs: &[&Value], expected: &str) -> executorch_abi::Error {
    let names = |values: &[&Value]| {
        let shown =
            values.iter().map(|v| format!("{} (value {})", v.element.datatype().name(), v.serialized_id));
        shown.collect::<Vec<_>>().join(", ")
    };
    invalid(format!("it makes {} of {}, expected {expected}", names(outputs), names(inputs)))
}

/// All are of one datatype, which `allowed` accepts.
fn same(inputs: &[&Value], output: &Value, allowed: fn(Datatype) -> bool) -> Result<()> {
    let datatype = output.element.datatype();
    if allowed(datatype) && inputs.iter().all(|value| value.element.datatype() == datatype) {
        return Ok(());
    }
    let all = [
        Datatype::Float32,
        Datatype::Float16,
        Datatype::BFloat16,
        Datatype::QInt8,
        Datatype::QUInt8,
        Datatype::Int32,
    ];
    let names = all.into_iter().filter(|datatype| allowed(*datatype)).map(Datatype::name).collect::<Vec<_>>();
    Err(mismatch(inputs, &[output], &format!("the same for all, one of {}", names.join(", "))))
}

/// Numbers are moved or compared as they are stored.
fn keeps_scale(inputs: &[&Value], output: &Value) -> Result<()> {
    let expected = output.element.affine();
    match inputs.iter().find(|value| value.element.affine() != expected) {
        None => Ok(()),
        Some(other) => Err(invalid(format!(
            "the scale and zero point of values {} and {} differ, which this kind cannot change",
            other.serialized_id, output.serialized_id
        ))),
    }
}

fn convert(x: &Value, output: &Value) -> Result<()> {
    let (from, to) = (x.element.datatype(), output.element.datatype());
    let dynamic = matches!(to, Datatype::QDInt8 | Datatype::QPInt8);
    if plain(from) && plain(to) || from.is_float() && dynamic {
        return Ok(());
    }
    Err(mismatch(&[x], &[output], "numbers with one scale or none, or dynamic scales for floating point"))
}

fn product(inputs: &[&Value], output: &Value) -> Result<()> {
    let [a, b] = inputs else { return Err(invalid("it has not two inputs")) };
    let fits = match (a.element.datatype(), b.element.datatype(), output.element.datatype()) {
        (Datatype::QDInt8, Datatype::QCInt8, output) => output.is_float(),
        (Datatype::BFloat16, Datatype::BFloat16, Datatype::Float32) => true,
        (a, b, output) => a == b && b == output && real(a),
    };
    if !fits {
        let expected = "floating point or quantised numbers, the same for all, or qdint8 times qcint8";
        return Err(mismatch(inputs, &[output], expected));
    }
    match &b.element {
        // Either is the dimension of columns, as the second factor may lie transposed.
        Element::QCInt8(channels) if channels.dim + 2 < b.dims.len() => Err(invalid(format!(
            "the scales of value {} lie along dimension {}, expected one of the last two",
            b.serialized_id, channels.dim
        ))),
        _ => Ok(()),
    }
}

/// `x`, a filter, perhaps a bias.
fn weighted(node: &Node, inputs: &[&Value], output: &Value) -> Result<()> {
    let (Some(x), Some(filter)) = (inputs.first(), inputs.get(1)) else {
        return Err(invalid("it has no filter"));
    };
    let bias = inputs.get(2);
    let fully_connected = node.op == Op::FullyConnected;
    let types = [x, filter].map(|value| value.element.datatype());
    if !elements_fit(types, bias.map(|b| b.element.datatype()), output.element.datatype(), fully_connected) {
        return Err(mismatch(inputs, &[output], "elements whose products can be summed"));
    }
    let constant = |value: &Value| matches!(value.role, Role::Constant(_));
    let variable = fully_connected && filter.element.datatype().is_float();
    if !constant(filter) && !variable {
        return Err(invalid(format!("its filter, value {}, is no constant", filter.serialized_id)));
    }
    if let Some(bias) = bias
        && constant(filter)
        && !constant(bias)
    {
        return Err(invalid(format!("its bias, value {}, is no constant", bias.serialized_id)));
    }
    let outputs = match node.op {
        Op::FullyConnected => usize::from(node.transposed_weight),
        Op::Depthwise(_) => 3,
        _ => 0,
    };
    along(filter, outputs)?;
    bias.map_or(Ok(()), |bias| along(bias, 0))
}

/// Scales of a weight lie along its output channels.
fn along(value: &Value, expected: usize) -> Result<()> {
    let found = match &value.element {
        Element::QCInt8(scales) | Element::QCInt32(scales) | Element::QCInt4(scales) => scales.dim,
        Element::QBInt4(scales) => scales.dim,
        _ => return Ok(()),
    };
    if found == expected {
        return Ok(());
    }
    Err(invalid(format!(
        "the scales of value {} lie along dimension {found}, expected {expected}, its output channels",
        value.serialized_id
    )))
}

fn elements_fit(
    [x, filter]: [Datatype; 2],
    bias: Option<Datatype>,
    output: Datatype,
    fully_connected: bool,
) -> bool {
    use Datatype::*;
    let float_bias = bias.is_none_or(Datatype::is_float);
    match (x, filter) {
        // Products of floating point numbers. Only bfloat16 ones may leave their type.
        (x, filter) if x.is_float() && filter.is_float() => {
            float_bias && (output == x || x == BFloat16 && output == Float32)
        }
        // Weights alone are quantised.
        (x, QCInt8) if x.is_float() => float_bias && output == x,
        (x, QCInt4 | QBInt4) if x.is_float() => float_bias && output == x && fully_connected,
        (QDInt8 | QPInt8, QInt8 | QCInt8) => float_bias && output.is_float(),
        (QDInt8 | QPInt8, QCInt4 | QBInt4) => float_bias && output.is_float() && fully_connected,
        (QInt8, QInt8 | QCInt8) => matches!(bias, None | Some(QInt32 | QCInt32)) && output == QInt8,
        (QInt8, QCInt4) => {
            matches!(bias, None | Some(QInt32 | QCInt32)) && output == QInt8 && fully_connected
        }
        (QUInt8, QUInt8) => matches!(bias, None | Some(QInt32)) && output == QUInt8,
        _ => false,
    }
}
