//! Python objects as the inputs of a call.

use crate::array::{Array, Ready, refuse};
use crate::errors::{OrRaise, bad_type, bad_value, type_name, within};
use crate::foreign::{Flavor, is_array};
use crate::nested;
use crate::stream;
use crate::tensor::Tensor as OwnTensor;
use executorch_client::{self as client, Kind, Storage, Tensor, TensorInfo, TensorView, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString, PyTuple};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a method expects of one input.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What it holds.
    pub kind: Kind,
    /// The tensor, if it is one.
    pub tensor: Option<TensorInfo>,
}

/// The inputs of a call. The views last as long as this does, because it holds what they view.
pub struct Inputs {
    values: Vec<Value<TensorView<'static>>>,
    keep: Arc<Vec<Keep>>,
    /// Whose arrays they are; none if no input is an array.
    pub flavor: Option<Flavor>,
}

/// What keeps an input's memory alive; for what an output may lie in.
pub enum Keep {
    /// Nothing to keep.
    Nothing,
    /// A Python object.
    Object(#[expect(dead_code, reason = "kept for its drop")] Py<PyAny>),
    /// A tensor.
    Tensor(Tensor),
}

impl Inputs {
    /// The values, for a call that ends before `self`.
    pub fn values(&self) -> &[Value<TensorView<'_>>] {
        &self.values
    }

    /// What keeps the inputs' memory alive.
    pub fn keep(&self) -> &Arc<Vec<Keep>> {
        &self.keep
    }

    /// The inputs as values that keep their own memory alive.
    pub fn into_held(self) -> PyResult<Vec<Value<Tensor>>> {
        let held = |(index, value): (usize, Value<TensorView<'static>>)| match value {
            Value::Tensor(view) => hold(view, self.keep.get(index), &self.keep),
            other => other.try_map(|view| view.to_tensor()).or_raise(),
        };
        self.values.into_iter().enumerate().map(held).collect()
    }
}

/// The items of `inputs`: a sequence of inputs, or one array, which is one input.
pub fn items<'py>(inputs: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = inputs.cast::<PyList>() {
        return Ok(list.iter().collect());
    }
    if let Ok(tuple) = inputs.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    if is_array(inputs)? {
        return Ok(vec![inputs.clone()]);
    }
    let is_text = inputs.is_instance_of::<PyString>() || inputs.is_instance_of::<PyBytes>();
    if is_text || inputs.is_instance_of::<PyDict>() {
        return Err(wrong_sequence(inputs));
    }
    match inputs.try_iter() {
        Ok(items) => items.collect(),
        Err(_) => Err(wrong_sequence(inputs)),
    }
}

fn wrong_sequence(inputs: &Bound<'_, PyAny>) -> PyErr {
    bad_type(format!("inputs should be a sequence with one item for each input, found {}", type_name(inputs)))
}

/// Converts and checks all inputs of method `name`.
pub fn prepare(inputs: &Bound<'_, PyAny>, specs: &[Spec], name: &str) -> PyResult<Inputs> {
    let items = items(inputs)?;
    if items.len() != specs.len() {
        return Err(bad_value(format!(
            "method {name:?} takes {} inputs, {} were given",
            specs.len(),
            items.len()
        )));
    }
    let mut values = Vec::with_capacity(items.len());
    let mut keep = Vec::with_capacity(items.len());
    let mut flavor = None;
    for (index, (object, spec)) in items.iter().zip(specs).enumerate() {
        let (value, kept, found) =
            convert(object, spec).map_err(|error| within(inputs.py(), error, &format!("input {index}")))?;
        values.push(value);
        keep.push(kept);
        flavor = flavor.max(found);
    }
    Ok(Inputs { values, keep: Arc::new(keep), flavor })
}

type Converted = (Value<TensorView<'static>>, Keep, Option<Flavor>);

fn convert(object: &Bound<'_, PyAny>, spec: &Spec) -> PyResult<Converted> {
    let plain = |value| Ok((value, Keep::Nothing, None));
    match spec.kind {
        Kind::Tensor => tensor(object, spec.tensor.as_ref()),
        Kind::Bool if object.is_instance_of::<PyBool>() => plain(Value::Bool(object.extract()?)),
        Kind::Int => match object.extract() {
            Ok(number) => plain(Value::Int(number)),
            Err(_) => Err(bad_type(format!("expected an int, found {}", type_name(object)))),
        },
        Kind::Double => match object.extract() {
            Ok(number) => plain(Value::Double(number)),
            Err(_) => Err(bad_type(format!("expected a float, found {}", type_name(object)))),
        },
        Kind::String if object.is_instance_of::<PyString>() => plain(Value::String(object.extract()?)),
        // The exporter leaves nothing of a constant that the program does not read, a string for example.
        Kind::None
            if object.is_none() || nested::is_number(object) || object.is_instance_of::<PyString>() =>
        {
            plain(Value::None)
        }
        other => Err(bad_type(format!("expected {}, found {}", article(other), type_name(object)))),
    }
}

fn article(kind: Kind) -> String {
    match kind {
        Kind::None => "None".into(),
        Kind::Int => "an int".into(),
        other => format!("a {}", other.name()),
    }
}

fn tensor(object: &Bound<'_, PyAny>, info: Option<&TensorInfo>) -> PyResult<Converted> {
    if let Ok(own) = object.cast::<OwnTensor>() {
        own.get().settle(stream::used).or_raise()?;
        return own_tensor(own.get().inner(), info);
    }
    if nested::is_sequence(object) || nested::is_number(object) {
        return numbers(object, info);
    }
    let Some(array) = Array::of(object)? else {
        let expected = info.map_or_else(|| "a tensor".into(), |info| format!("a tensor {}", info.layout));
        return Err(refuse(object, &expected));
    };
    let flavor = array.flavor;
    let ready = array.ready(info)?;
    let (value, keep) = match ready {
        Ready::InPlace(view, owner) => (view, Keep::Object(owner)),
        Ready::Copied(tensor) => kept(tensor),
    };
    check(&value, info, flavor)?;
    Ok((Value::Tensor(value), keep, Some(flavor)))
}

/// One of our tensors, copied if it does not lie in the order that the program wants.
fn own_tensor(tensor: &Tensor, info: Option<&TensorInfo>) -> PyResult<Converted> {
    let (value, keep) = match info {
        Some(info) if info.layout.rank() == tensor.layout().rank() => {
            let order = info.layout.dim_order();
            let layout = client::Layout::dense(tensor.layout().dtype(), tensor.layout().sizes(), order);
            kept(reordered(tensor, layout.or_raise()?)?)
        }
        _ => kept(tensor.clone()),
    };
    check(&value, info, Flavor::Own)?;
    Ok((Value::Tensor(value), keep, Some(Flavor::Own)))
}

/// The same elements in the order of `layout`, which has the same sizes.
pub fn reordered(tensor: &Tensor, layout: client::Layout) -> PyResult<Tensor> {
    let from = tensor.layout();
    let same = |((&n, a), b): ((&i32, &i32), &i32)| n <= 1 || a == b;
    if from.sizes().iter().zip(from.strides()).zip(layout.strides()).all(same) {
        return Tensor::new(layout, Arc::clone(tensor.storage())).or_raise();
    }
    let size = from.dtype().size() as i64;
    let strides: Vec<i64> = from.strides().iter().map(|&stride| i64::from(stride) * size).collect();
    if !tensor.device().is_host() {
        return Err(bad_value(format!(
            "the tensor on {} has the strides {:?}, but {:?} are wanted; make it contiguous there, or copy it to the host",
            tensor.device(),
            from.strides(),
            layout.strides()
        )));
    }
    // SAFETY: a tensor's memory holds what its sizes and strides reach, and both layouts have the same sizes.
    unsafe { crate::strided::gather(layout, tensor.storage().as_ptr(), &strides) }.or_raise()
}

fn kept(tensor: Tensor) -> (TensorView<'static>, Keep) {
    let layout = *tensor.layout();
    // SAFETY: the storage holds the layout's bytes, and `Keep` holds the storage as long as the view is used.
    let view = unsafe { TensorView::on(tensor.device(), layout, tensor.storage().as_ptr(), true) };
    (view, Keep::Tensor(tensor))
}

/// Python's numbers and lists, which take the program's element type.
fn numbers(object: &Bound<'_, PyAny>, info: Option<&TensorInfo>) -> PyResult<Converted> {
    let dtype = match info {
        Some(info) => info.layout.dtype(),
        None => nested::infer(object)?,
    };
    let mut tensor = nested::parse(object, dtype)?;
    // One number serves for a tensor of one element, whatever its rank.
    if let Some(info) = info
        && tensor.layout().rank() == 0
        && info.layout.numel() == 1
    {
        tensor = Tensor::new(info.layout, Arc::clone(tensor.storage())).or_raise()?;
    }
    let tensor = match info {
        Some(info) if info.layout.rank() == tensor.layout().rank() && !info.layout.is_contiguous() => {
            let layout = client::Layout::dense(dtype, tensor.layout().sizes(), info.layout.dim_order());
            reordered(&tensor, layout.or_raise()?)?
        }
        _ => tensor,
    };
    let (value, keep) = kept(tensor);
    check(&value, info, Flavor::Own)?;
    Ok((Value::Tensor(value), keep, None))
}

/// Says before the runtime does what is wrong with a dtype or shape, with advice that fits Python.
fn check(view: &TensorView<'_>, info: Option<&TensorInfo>, flavor: Flavor) -> PyResult<()> {
    let Some(info) = info else { return Ok(()) };
    let (found, wanted) = (view.layout(), &info.layout);
    if found.dtype() != wanted.dtype() {
        let advice = match flavor {
            Flavor::Torch => format!("convert it with .to(torch.{})", wanted.dtype()),
            Flavor::Numpy => format!("convert it with .astype(\"{}\")", wanted.dtype()),
            Flavor::Own => format!("make it of {}", wanted.dtype()),
        };
        return Err(bad_value(format!(
            "expected a tensor of {}, found {}; {advice}",
            wanted.dtype(),
            found.dtype()
        )));
    }
    let fits = found.rank() == wanted.rank()
        && found.sizes().iter().zip(wanted.sizes()).all(|(f, w)| f == w || (info.is_dynamic && f < w));
    if fits {
        return Ok(());
    }
    let bound = if info.is_dynamic { " at most" } else { "" };
    Err(bad_value(format!(
        "expected a tensor of shape{bound} {:?}, found {:?}",
        wanted.sizes(),
        found.sizes()
    )))
}

fn hold(view: TensorView<'static>, keep: Option<&Keep>, all: &Arc<Vec<Keep>>) -> PyResult<Value<Tensor>> {
    if let Some(Keep::Tensor(tensor)) = keep {
        return Ok(Value::Tensor(tensor.clone()));
    }
    let Some(data) = NonNull::new(view.as_ptr()) else {
        return view.to_tensor().or_raise().map(Value::Tensor);
    };
    // SAFETY: `all` keeps the object that keeps the memory that the view shows, at its address.
    let storage = unsafe {
        Storage::foreign_on(view.device(), data, view.layout().nbytes(), Box::new(Arc::clone(all)))
    };
    Tensor::new(*view.layout(), Arc::new(storage)).or_raise().map(Value::Tensor)
}
