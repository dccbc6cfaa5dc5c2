//! Shapes of a graph: what each node makes of the shapes that it is given.
//!
//! Sizes are the caller's, so every sum and product is checked, and no result has more bytes than can be addressed.

mod windows;

use crate::graph::*;
use arrayvec::ArrayVec;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};

/// Shapes of a node's outputs.
pub type Outputs = ArrayVec<Dims, 2>;

/// Shapes of a node's outputs from those of its inputs, all of which are given in the node's order.
///
/// # Errors
/// `InvalidArgument` if the node cannot take these shapes, saying why.
pub fn infer(graph: &Graph, node: &Node, inputs: &[&[usize]]) -> Result<Outputs> {
    // What follows makes shapes of no more dimensions than this.
    if let Some(long) = inputs.iter().find(|sizes| sizes.len() > MAX_RANK) {
        return Err(refused(format!(
            "an input of shape {long:?}, at most {MAX_RANK} dimensions are allowed"
        )));
    }
    let dims = output(node, inputs)?;
    let outputs: Outputs = node.outputs.iter().map(|_| dims.clone()).collect();
    for (id, dims) in node.outputs.iter().zip(&outputs) {
        check_size(graph.value(*id), dims)?;
    }
    Ok(outputs)
}

/// Shapes of all values (by their ids) if the graph's inputs (in the order of [`Graph::inputs`]) have the given ones.
///
/// # Errors
/// `InvalidArgument` if there are too few or too many, or an input has another number of dimensions than the payload says,
/// or a node cannot take what it gets.
pub fn infer_all(graph: &Graph, inputs: &[&[usize]]) -> Result<Vec<Dims>> {
    let mut all = Vec::new();
    infer_into(graph, inputs, &mut all)?;
    Ok(all)
}

/// [`infer_all`] into memory that was used before. After an error, it holds nothing of meaning.
pub fn infer_into(graph: &Graph, inputs: &[&[usize]], all: &mut Vec<Dims>) -> Result<()> {
    if inputs.len() != graph.inputs.len() {
        return Err(refused(format!("{} inputs are given, expected {}", inputs.len(), graph.inputs.len())));
    }
    all.clear();
    all.extend(graph.values.iter().map(|value| value.dims.clone()));
    for (id, given) in graph.inputs.iter().zip(inputs) {
        let value = graph.value(*id);
        let rank = value.dims.len();
        // The exporter declares single numbers as vectors of one.
        let is_number = given.is_empty() && value.dims.as_slice() == [1];
        if given.len() != rank && !is_number {
            return Err(refused(format!(
                "input value {} is given as {given:?}, expected {rank} dimensions, as in {:?}",
                value.serialized_id, value.dims
            )));
        }
        let given = dims(given)?;
        check_size(value, &given)?;
        if let Some(place) = all.get_mut(id.index()) {
            *place = given;
        }
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        let outputs = {
            let operands = node.inputs.iter().map(|id| all.get(id.index()).map_or(&[][..], Dims::as_slice));
            let operands: ArrayVec<&[usize], 5> = operands.collect();
            infer(graph, node, &operands).map_err(|e| e.within(format!("node {i} ({})", node.kind())))?
        };
        for (id, dims) in node.outputs.iter().zip(outputs) {
            if let Some(place) = all.get_mut(id.index()) {
                *place = dims;
            }
        }
    }
    Ok(())
}

/// Checks that the shapes that a payload declares follow from those of its inputs.
///
/// The exporter declares images that are quantised dynamically with their dimensions in PyTorch's order, though their
/// numbers lie in the order of the node that makes them. Such a value gets the shape that the node makes.
///
/// # Errors
/// `InvalidProgram` if they do not.
pub fn settle_declared(graph: &mut Graph) -> Result<()> {
    for i in 0..graph.nodes.len() {
        for (id, dims) in settled(graph, i)? {
            if let Some(value) = graph.values.get_mut(id.index()) {
                value.dims = dims;
            }
        }
    }
    Ok(())
}

/// The outputs of a node with the shapes that they have, if that is what the payload declares.
fn settled(graph: &Graph, index: usize) -> Result<ArrayVec<(ValueId, Dims), 2>> {
    let Some(node) = graph.nodes.get(index) else { return Ok(ArrayVec::new()) };
    let place = |e: Error| {
        Error::new(ET_ERROR_INVALID_PROGRAM, e.message).within(format!("node {index} ({})", node.kind()))
    };
    let operands: ArrayVec<&[usize], 5> =
        node.inputs.iter().map(|id| graph.value(*id).dims.as_slice()).collect();
    let outputs = infer(graph, node, &operands).map_err(place)?;
    for (id, dims) in node.outputs.iter().zip(&outputs) {
        let value = graph.value(*id);
        if value.dims != *dims && !is_reordered(value, dims) {
            return Err(place(refused(format!(
                "output value {} is declared as {:?}, but inputs of shapes {operands:?} make {dims:?}",
                value.serialized_id, value.dims
            ))));
        }
    }
    Ok(node.outputs.iter().copied().zip(outputs).collect())
}

/// Whether a dynamically quantised value is declared with the dimensions that it has, in another order.
fn is_reordered(value: &Value, dims: &Dims) -> bool {
    let sorted = |dims: &Dims| {
        let mut sorted = dims.clone();
        sorted.sort_unstable();
        sorted
    };
    let dynamic = matches!(value.element.datatype(), Datatype::QDInt8 | Datatype::QPInt8);
    dynamic && sorted(&value.dims) == sorted(dims)
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, message)
}

fn check_size(value: &Value, dims: &Dims) -> Result<()> {
    let datatype = value.element.datatype();
    if datatype.byte_size(dims).is_some() {
        return Ok(());
    }
    Err(refused(format!(
        "value {} of shape {dims:?} ({}) has more bytes than can be addressed",
        value.serialized_id,
        datatype.name()
    )))
}

/// The shape that all outputs of a node have.
fn output(node: &Node, inputs: &[&[usize]]) -> Result<Dims> {
    let (Some(x), rest) = (inputs.first().copied(), inputs.get(1..).unwrap_or_default()) else {
        return Err(refused("it has no input"));
    };
    match &node.op {
        Op::Unary(_) | Op::Convert | Op::Copy => dims(x),
        Op::Softmax if x.is_empty() => Err(refused("a number has no last dimension to sum over")),
        Op::Softmax => dims(x),
        Op::Binary(_) => broadcast(x, second(rest)?),
        Op::PRelu => match broadcast(x, second(rest)?)? {
            dims if dims.as_slice() == x => Ok(dims),
            _ => Err(refused(format!("slopes of shape {:?} do not broadcast to {x:?}", second(rest)?))),
        },
        Op::FullyConnected => fully_connected(x, second(rest)?, rest.get(1).copied(), node.transposed_weight),
        Op::BatchMatrixMultiply => product(x, second(rest)?, node.transposed_weight),
        Op::Convolution(c) => windows::convolution(c, x, second(rest)?, rest.get(1).copied()),
        Op::Depthwise(c) => windows::depthwise(c, x, second(rest)?, rest.get(1).copied()),
        Op::Transposed { convolution, adjustment } => {
            windows::transposed(convolution, *adjustment, x, second(rest)?, rest.get(1).copied())
        }
        Op::AveragePool(pool) | Op::MaxPool(pool) | Op::ArgMaxPool(pool) => windows::pool(pool, x),
        Op::GlobalAveragePool { keep_dims } => global_average(x, *keep_dims),
        Op::Reshape(shape) => reshape(x, shape),
        Op::Transpose(permutation) => transpose(x, permutation),
        Op::Slice { offsets, sizes } => slice(x, offsets, sizes),
        Op::Pad { before, after, .. } => pad(x, before, after),
        Op::Resize { size, .. } => windows::resize(x, *size),
        Op::Concatenate { axis } => concatenate(inputs, *axis),
    }
}

fn second<'a>(rest: &[&'a [usize]]) -> Result<&'a [usize]> {
    rest.first().copied().ok_or_else(|| refused("it has one input, expected two"))
}

fn dims(sizes: &[usize]) -> Result<Dims> {
    Dims::try_from(sizes)
        .map_err(|_| refused(format!("the shape {sizes:?} has more than {MAX_RANK} dimensions")))
}

fn numel(sizes: &[usize]) -> Result<usize> {
    let product = sizes.iter().try_fold(1_usize, |n, &size| n.checked_mul(size));
    product.ok_or_else(|| refused(format!("the number of elements of {sizes:?} overflows")))
}

/// As NumPy does it.
fn broadcast(a: &[usize], b: &[usize]) -> Result<Dims> {
    let rank = a.len().max(b.len());
    // From the last dimension on, missing ones count as 1.
    let size = |sizes: &[usize], from_end: usize| {
        sizes.len().checked_sub(from_end).and_then(|at| sizes.get(at)).copied().unwrap_or(1)
    };
    let mut all = Dims::new();
    for from_end in (1..=rank).rev() {
        let joined = match (size(a, from_end), size(b, from_end)) {
            (a, b) if a == b || b == 1 => a,
            (1, b) => b,
            _ => return Err(refused(format!("shapes {a:?} and {b:?} do not broadcast"))),
        };
        all.try_push(joined).map_err(|_| refused(format!("more than {MAX_RANK} dimensions")))?;
    }
    Ok(all)
}

/// A bias has a number for each output channel, whatever dimensions of size 1 stand before.
fn check_bias(bias: Option<&[usize]>, outputs: usize) -> Result<()> {
    match bias {
        Some(sizes) if sizes.last() != Some(&outputs) || numel(sizes)? != outputs => {
            Err(refused(format!("the bias has the shape {sizes:?}, expected [{outputs}]")))
        }
        _ => Ok(()),
    }
}

fn fully_connected(x: &[usize], filter: &[usize], bias: Option<&[usize]>, transposed: bool) -> Result<Dims> {
    let (inputs, outputs) = match (filter, transposed) {
        (&[outputs, inputs], false) | (&[inputs, outputs], true) => (inputs, outputs),
        _ => return Err(refused(format!("the filter has the shape {filter:?}, expected two dimensions"))),
    };
    check_bias(bias, outputs)?;
    let mut all = dims(x)?;
    match all.last_mut() {
        Some(last) if *last == inputs => *last = outputs,
        _ => return Err(refused(format!("inputs of shape {x:?} do not fit a filter for {inputs} channels"))),
    }
    Ok(all)
}

fn product(a: &[usize], b: &[usize], transposed: bool) -> Result<Dims> {
    let ([a_outer @ .., rows, inner], [b_outer @ .., y, z]) = (a, b) else {
        return Err(refused(format!("factors of shapes {a:?} and {b:?}, expected at least two dimensions")));
    };
    let (inner_b, columns) = if transposed { (z, y) } else { (y, z) };
    if inner != inner_b {
        return Err(refused(format!(
            "factors of shapes {a:?} and {b:?} do not fit: {inner} and {inner_b} differ"
        )));
    }
    let mut all = broadcast(a_outer, b_outer)?;
    all.extend([*rows, *columns]);
    Ok(all)
}

fn global_average(x: &[usize], keep_dims: bool) -> Result<Dims> {
    let [outer @ .., height, width, channels] = x else {
        return Err(refused(format!("an input of shape {x:?}, expected at least three dimensions")));
    };
    if *height == 0 || *width == 0 {
        return Err(refused(format!("an input of shape {x:?} has no elements to average")));
    }
    let mut all = dims(outer)?;
    if keep_dims {
        all.extend([1, 1]);
    }
    all.push(*channels);
    Ok(all)
}

fn reshape(x: &[usize], shape: &Dims) -> Result<Dims> {
    let elements = numel(x)?;
    let does_not_fit =
        || refused(format!("{elements} elements of shape {x:?} do not fill the shape {shape:?}"));
    let mut all = shape.clone();
    let Some(open) = all.iter_mut().find(|size| **size == 0) else {
        return if numel(&all)? == elements { Ok(all) } else { Err(does_not_fit()) };
    };
    *open = 1;
    let known = numel(&all)?;
    if known == 0 || !elements.is_multiple_of(known) {
        return Err(does_not_fit());
    }
    Ok(shape.iter().map(|&size| if size == 0 { elements / known } else { size }).collect())
}

fn transpose(x: &[usize], permutation: &Dims) -> Result<Dims> {
    let sizes = permutation.iter().map(|&dim| x.get(dim).copied()).collect::<Option<Dims>>();
    sizes.filter(|sizes| sizes.len() == x.len()).ok_or_else(|| {
        refused(format!("an input of shape {x:?} does not have the dimensions of {permutation:?}"))
    })
}

fn slice(x: &[usize], offsets: &[usize], sizes: &Dims) -> Result<Dims> {
    if offsets.len() != x.len() || sizes.len() != x.len() {
        return Err(refused(format!("a slice of {} dimensions from the shape {x:?}", sizes.len())));
    }
    let one = |((&have, &offset), &size): ((&usize, &usize), &usize)| {
        if size == 0 && offset == 0 {
            return Ok(have);
        }
        match offset.checked_add(size) {
            Some(end) if end <= have && size > 0 => Ok(size),
            _ => Err(refused(format!(
                "a slice of {sizes:?} elements from {offsets:?} on is not within the shape {x:?}"
            ))),
        }
    };
    x.iter().zip(offsets).zip(sizes).map(one).collect()
}

fn pad(x: &[usize], before: &Dims, after: &Dims) -> Result<Dims> {
    if before.len() != x.len() || after.len() != x.len() {
        return Err(refused(format!("padding of {} dimensions for the shape {x:?}", before.len())));
    }
    let one = |((&size, &before), &after): ((&usize, &usize), &usize)| {
        let sum = before.checked_add(size).and_then(|sum| sum.checked_add(after));
        sum.ok_or_else(|| refused(format!("{size} elements, {before} before and {after} after overflow")))
    };
    x.iter().zip(before).zip(after).map(one).collect()
}

fn concatenate(inputs: &[&[usize]], axis: usize) -> Result<Dims> {
    let mut all = dims(inputs.first().copied().unwrap_or_default())?;
    for &input in inputs.get(1..).unwrap_or_default() {
        let differ = || refused(format!("shapes {inputs:?} cannot be joined along dimension {axis}"));
        let fits = input.len() == all.len()
            && input.iter().zip(&all).enumerate().all(|(dim, (a, b))| dim == axis || a == b);
        match (fits, all.get_mut(axis), input.get(axis)) {
            (true, Some(sum), Some(&more)) => {
                *sum = sum
                    .checked_add(more)
                    .ok_or_else(|| refused(format!("the sizes of {inputs:?} overflow")))?;
            }
            _ => return Err(differ()),
        }
    }
    Ok(all)
}
