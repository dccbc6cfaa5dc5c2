//! A loaded payload: a container with its constants, and how it is run.

use crate::arguments::{Handles, copy_back, region, wrap};
use crate::constants::{self, Held, Source};
use crate::container::Container;
use crate::error::cuda;
use crate::graph::{Phase, Recording};
use crate::library::Library;
use crate::options::Settings;
use crate::payload::Payload;
use crate::session::Member;
use crate::shim::{CurrentStream, RawTensor, Tensor};
use crate::stream;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::{Cuda, Device, DeviceGuard, Stream, StreamRef};
use executorch_delegate::{Arguments, Inputs, NamedData, Outputs};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A loaded payload.
#[derive(Debug)]
pub struct Instance {
    /// Dropped by `drop`, while the stream is current.
    model: ManuallyDrop<Model>,
    place: Place,
}

/// Where it runs.
#[derive(Debug)]
struct Place {
    library: &'static Cuda,
    device: Device,
    stream: Arc<Stream>,
}

/// What runs. Fields are dropped in their order: what uses memory before what holds it.
#[derive(Debug)]
struct Model {
    graph: Option<Recording>,
    inputs: Handles,
    outputs: Handles,
    session: Member,
    container: Arc<Container>,
    _constants: Held,
}

impl Instance {
    /// Loads a payload on the current device. `method` is its name.
    pub fn load(
        payload: &Payload,
        method: &str,
        settings: &Settings,
        named_data: &NamedData<'_>,
    ) -> Result<Self> {
        let library = Cuda::get().map_err(cuda)?;
        if Device::count(library).map_err(cuda)? == 0 {
            return Err(Error::new(
                ET_ERROR_NOT_FOUND,
                "no NVIDIA GPU is visible to the process: see nvidia-smi and CUDA_VISIBLE_DEVICES",
            ));
        }
        library.check_visible().map_err(cuda)?;
        let device = Device::current(library).map_err(cuda)?;
        let capability = if payload.has_variants() { device.capability(library).map_err(cuda)? } else { 0 };
        let key = payload.library(capability)?;
        let compiled = Library::load(&named_data.get(key).map_err(|e| {
            Error::new(
                e.code,
                format!("the compiled model is not in the program's named data: {}", e.message),
            )
        })?)?;
        let container = Arc::new(Container::create(compiled)?);
        let source = Source { library, device, named_data };
        let held = match payload {
            Payload::List { weights, .. } => constants::from_list(&container, source, weights)?,
            Payload::Blob { weights, .. } if settings.shared_weights => {
                constants::from_shared_blob(&container, source, weights)?
            }
            Payload::Blob { weights, .. } => {
                constants::from_blob(&container, source, weights)?;
                Held::default()
            }
        };
        let stream = if settings.shared_stream {
            stream::shared(library, device)
        } else {
            stream::own(library, device)
        }?;
        let model = Model {
            graph: settings.has_graph(method).then(Recording::default),
            inputs: Handles::default(),
            outputs: Handles::default(),
            session: Member::join(&container, library, device)?,
            container,
            _constants: held,
        };
        Ok(Self { model: ManuallyDrop::new(model), place: Place { library, device, stream } })
    }

    /// Runs it: the work is on the stream when this returns, and may not be done.
    pub fn execute(&mut self, arguments: Arguments<'_>) -> Result<()> {
        let (model, place): (&mut Model, _) = (&mut self.model, &self.place);
        let (inputs, mut outputs) = arguments.split(model.container.inputs(), model.container.outputs())?;
        let callers = stream::callers(place.library);
        if callers.is_some() && model.graph.is_some() {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                "a method that is recorded as a CUDA graph runs on its own stream; choose no stream for it, or take it off the \
                 option enable_cuda_graph_for_method",
            ));
        }
        let stream = callers.unwrap_or_else(|| place.stream.borrow());
        // SAFETY: the caller's stream is alive during the call, and the own one as long as `self`; the guard ends with the call.
        let _current = unsafe { CurrentStream::set(stream.as_raw(), place.device.0) };
        let _device = DeviceGuard::new(place.library, place.device).map_err(cuda)?;
        let is_rebound = model.session.bind(&model.container, place.library, place.device)?;
        if model.graph.is_some() && is_rebound {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                "a method that is recorded as a CUDA graph cannot run in sessions with a state of their own",
            ));
        }
        let Model { graph: Some(graph), container, .. } = model else {
            return model.eager(place, stream, &inputs, &mut outputs);
        };
        match graph.phase() {
            Phase::Warmup => {
                model.eager(place, stream, &inputs, &mut outputs)?;
                model.graph.iter_mut().for_each(Recording::warmed_up);
                return Ok(());
            }
            Phase::Capture => graph.capture(container, place.library, place.device, stream, &inputs)?,
            Phase::Replay => {}
        }
        graph.replay(place.library, place.device, stream, &inputs, &mut outputs)
    }
}

impl Model {
    fn eager(
        &mut self,
        place: &Place,
        stream: StreamRef,
        inputs: &Inputs<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<()> {
        let result = self.run(place, stream, inputs, outputs);
        // Also what a failure left.
        self.inputs.clear();
        self.outputs.clear();
        result
    }

    fn run(
        &mut self,
        place: &Place,
        stream: StreamRef,
        inputs: &Inputs<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<()> {
        let (library, device) = (place.library, place.device);
        for index in 0..self.container.inputs() {
            let tensor = inputs.tensor(index)?;
            let region = region(library, device, &tensor).map_err(|e| e.within(format!("input {index}")))?;
            // SAFETY: the caller's tensors stay until the work is done, as asynchronous work demands of callers.
            self.inputs.push(unsafe { wrap(&tensor, region, device) }?);
        }
        for (index, output) in outputs.tensors().enumerate() {
            let tensor = output?;
            let region =
                region(library, device, &tensor.view()).map_err(|e| e.within(format!("output {index}")))?;
            // SAFETY: as above.
            self.outputs.push(unsafe { wrap(&tensor.view(), region, device) }?);
        }
        let given: Vec<*mut RawTensor> =
            (0..self.container.outputs()).map(|index| self.outputs.get(index)).collect();
        // SAFETY: as many handles as the container counts, which it takes or leaves; the stream is alive.
        let result = unsafe {
            self.container.run(self.inputs.as_mut_slice(), self.outputs.as_mut_slice(), stream.as_raw())
        };
        // Those that the container wrote others over are still to be deleted.
        let mut replaced = Handles::default();
        for (index, raw) in given.iter().enumerate() {
            if self.outputs.get(index) != *raw {
                // SAFETY: made above, and no longer among the outputs.
                replaced.push(unsafe { Tensor::from_raw(*raw) }?);
            }
        }
        result?;
        for (index, output) in outputs.tensors().enumerate() {
            let (mut output, returned) = (output?, self.outputs.get(index));
            if given.get(index) == Some(&returned) {
                continue;
            }
            let returned = self.outputs.take(index).ok_or_else(|| no_output(index))?;
            copy_back(library, device, stream, &returned, &mut output)
                .map_err(|e| e.within(format!("output {index}")))?;
        }
        Ok(())
    }
}

/// The error of an output that the container left without a tensor.
pub fn no_output(index: usize) -> Error {
    Error::new(ET_ERROR_INTERNAL, format!("the compiled model gave no tensor for output {index}"))
}

impl Drop for Instance {
    fn drop(&mut self) {
        let (library, device, stream) = (self.place.library, self.place.device, self.place.stream.borrow());
        // Whatever device and stream the thread works with, this is about the instance's.
        let _device = DeviceGuard::new(library, device);
        // SAFETY: the stream lives longer than the guard, which ends with this function.
        let _stream = unsafe { CurrentStream::set(stream.as_raw(), device.0) };
        // Nothing may still run in what is torn down now. A device that failed leaves nothing to wait for.
        let _ = stream.synchronize();
        // SAFETY: dropped once, and not used again.
        unsafe { ManuallyDrop::drop(&mut self.model) };
    }
}
