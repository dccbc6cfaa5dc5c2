//! A loaded method that any thread may call: calls take turns.

use crate::components;
use crate::errors::{OrRaise, raise, raise_as};
use crate::foreign::{self, Flavor};
use crate::input::{self, Spec};
use crate::output;
use crate::stream;
use executorch_client::{Device, Method, MethodOptions, Outputs, Program, Tensor, TensorView, Value};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A method with its lock.
pub struct Shared {
    state: Mutex<State>,
    specs: Vec<Spec>,
    name: String,
}

struct State {
    method: Method,
    /// What `set_inputs` was given last: outputs may lie in it.
    held: Arc<Vec<Value<Tensor>>>,
    flavor: Option<Flavor>,
}

/// What outputs become if no array was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Our own tensors.
    Own,
    /// PyTorch's, if the program imported it: what upstream's bindings give.
    Torch,
}

impl Fallback {
    fn flavor(self, py: Python<'_>, given: Option<Flavor>) -> PyResult<Flavor> {
        match (given, self) {
            (Some(flavor), _) => Ok(flavor),
            (None, Self::Torch) if foreign::torch(py)?.is_some() => Ok(Flavor::Torch),
            (None, _) => Ok(Flavor::Own),
        }
    }
}

/// The devices, other than the host, that tensors lie on.
fn devices(values: &[Value<TensorView<'_>>]) -> Vec<Device> {
    let of = |value: &Value<TensorView<'_>>| match value {
        Value::Tensor(view) => Some(view.device()),
        _ => None,
    };
    values.iter().filter_map(of).filter(|device| !device.is_host()).collect()
}

/// Waits for the devices that a run took inputs from or left outputs on, unless this thread chose a stream: then
/// everything is in order on that, and the caller keeps the inputs until it is done.
fn settle<'a>(
    given: &[Device],
    run: executorch_client::Result<Outputs<'a>>,
) -> executorch_client::Result<Outputs<'a>> {
    let mut used = given.to_vec();
    if let Ok(outputs) = &run {
        for index in 0..outputs.len() {
            used.extend(devices(&[outputs.get(index)?]));
        }
    }
    if used.is_empty() || stream::chosen().is_some() {
        return run;
    }
    used.sort_unstable_by_key(|device| (device.kind, device.index));
    used.dedup();
    let waited = used.into_iter().try_for_each(Device::synchronize);
    let outputs = run?;
    waited.map(|()| outputs)
}

impl Shared {
    /// Loads a method while other Python threads run. An unknown name is a `KeyError` too.
    pub fn load(
        py: Python<'_>,
        program: &Program,
        name: &str,
        options: MethodOptions,
    ) -> PyResult<Arc<Self>> {
        components::ensure(py)?;
        py.detach(|| program.method(name)).map_err(|error| raise_as("MethodNotFoundError", error))?;
        let method = py.detach(|| program.load_method(name, options));
        let method = method.map_err(|error| raise(components::explain(error)))?;
        let spec = |index| {
            Some(Spec { kind: method.input_kind(index)?, tensor: method.input_tensor(index).cloned() })
        };
        let specs = (0..method.meta().input_count()).map_while(spec).collect();
        let state = State { method, held: Arc::default(), flavor: None };
        Ok(Arc::new(Self { state: Mutex::new(state), specs, name: name.to_owned() }))
    }

    /// What the inputs have to be.
    pub fn specs(&self) -> &[Spec] {
        &self.specs
    }

    /// The number or string that input `index` was exported with, and has to be.
    pub fn traced(&self, py: Python<'_>, index: usize) -> PyResult<Value<Tensor>> {
        py.detach(|| self.lock().method.input(index)?.try_map(|view| view.to_tensor())).or_raise()
    }

    /// Whoever calls this must not be attached to Python, or two threads could wait for each other.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs with the given inputs, while other Python threads run.
    pub fn call<'py>(
        self: &Arc<Self>,
        inputs: &Bound<'py, PyAny>,
        clone_outputs: bool,
        fallback: Fallback,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = inputs.py();
        let inputs = input::prepare(inputs, &self.specs, &self.name)?;
        let flavor = fallback.flavor(py, inputs.flavor)?;
        let values = py.detach(|| {
            let mut state = self.lock();
            // The inputs of `set_inputs` are replaced.
            state.held = Arc::default();
            let given = devices(inputs.values());
            let outputs = settle(&given, state.method.execute(inputs.values()))?;
            if clone_outputs {
                return outputs.to_owned();
            }
            let keep = inputs.keep();
            // SAFETY: the owner holds the method, and what the inputs lie in.
            unsafe { outputs.to_shared(|| Box::new((Arc::clone(self), Arc::clone(keep)))) }
        });
        output::to_list(py, values.or_raise()?, flavor)
    }

    /// Sets all inputs for coming runs.
    pub fn set_inputs(&self, inputs: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = inputs.py();
        let inputs = input::prepare(inputs, &self.specs, &self.name)?;
        let flavor = inputs.flavor;
        let held = inputs.into_held()?;
        py.detach(|| {
            let mut state = self.lock();
            for (index, value) in held.iter().enumerate() {
                state.method.set_input(index, value)?;
            }
            state.held = Arc::new(held);
            state.flavor = flavor;
            Ok(())
        })
        .or_raise()
    }

    /// Runs with the inputs that were set.
    pub fn run(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.lock();
            let held: Vec<_> = state.held.iter().map(Value::view).collect();
            settle(&devices(&held), state.method.run()).map(drop)
        })
        .or_raise()
    }

    /// The outputs of the last run with inputs that were set.
    pub fn outputs<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        clone_outputs: bool,
        fallback: Fallback,
    ) -> PyResult<Bound<'py, PyList>> {
        let (values, given) = py
            .detach(|| {
                let mut state = self.lock();
                let (held, flavor) = (Arc::clone(&state.held), state.flavor);
                let outputs = state.method.outputs()?;
                let values = if clone_outputs {
                    outputs.to_owned()?
                } else {
                    // SAFETY: the owner holds the method, and what its inputs lie in.
                    unsafe { outputs.to_shared(|| Box::new((Arc::clone(self), Arc::clone(&held))))? }
                };
                Ok((values, flavor))
            })
            .or_raise()?;
        output::to_list(py, values, fallback.flavor(py, given)?)
    }

    /// A copy of an attribute.
    pub fn attribute(&self, py: Python<'_>, name: &str) -> PyResult<Tensor> {
        py.detach(|| self.lock().method.attribute(name)?.to_tensor()).or_raise()
    }
}
