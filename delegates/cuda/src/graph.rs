//! A method as a CUDA graph: run a few times, then recorded, then launched as a whole.

use crate::arguments::{Handles, Region, copy_back, region, wrap};
use crate::container::Container;
use crate::error::cuda;
use crate::instance::no_output;
use crate::shim::Tensor;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::memory::{self, Kind};
use executorch_cuda_driver::{Capture, CaptureMode, Cuda, Device, DeviceBuffer, Graph, StreamRef};
use executorch_delegate::{Inputs, Outputs};

/// Calls before the recording: compiled models choose and load kernels in their first ones.
const WARMUP: u32 = 3;

/// What the next call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Runs as always.
    Warmup,
    /// Records, then launches.
    Capture,
    /// Launches.
    Replay,
}

/// A method on its way to a graph.
#[derive(Debug, Default)]
pub struct Recording {
    warmed_up: u32,
    recorded: Option<Recorded>,
}

/// A recorded call. Fields are dropped in their order.
#[derive(Debug)]
struct Recorded {
    /// What the recorded work allocated for outputs, and each launch writes again.
    outputs: Vec<Tensor>,
    graph: Graph,
    /// What it reads.
    inputs: Vec<DeviceBuffer>,
}

impl Recording {
    /// What the next call does.
    pub fn phase(&self) -> Phase {
        match &self.recorded {
            Some(_) => Phase::Replay,
            None if self.warmed_up < WARMUP => Phase::Warmup,
            None => Phase::Capture,
        }
    }

    /// Counts a call.
    pub fn warmed_up(&mut self) {
        self.warmed_up += 1;
    }

    /// Records a call on the stream, which must be current. If it fails, nothing is kept, and the next call tries again.
    pub fn capture(
        &mut self,
        container: &Container,
        library: &'static Cuda,
        device: Device,
        stream: StreamRef,
        inputs: &Inputs<'_>,
    ) -> Result<()> {
        let mut buffers = Vec::new();
        let mut handles = Handles::default();
        for index in 0..container.inputs() {
            let tensor = inputs.tensor(index)?;
            let from = region(library, device, &tensor).map_err(|e| e.within(format!("input {index}")))?;
            let buffer = DeviceBuffer::new(library, device, from.bytes).map_err(cuda)?;
            let place = Region { data: buffer.as_ptr(), bytes: from.bytes };
            copy(stream, place, from)?;
            // SAFETY: the buffer is kept with the graph, and holds as many bytes as the tensor.
            handles.push(unsafe { wrap(&tensor, place, device) }?);
            buffers.push(buffer);
        }
        stream.synchronize().map_err(cuda)?;
        // The container makes its own outputs: no caller's memory goes into the recording.
        let mut outputs = Handles::default();
        outputs.expect(container.outputs());
        let capture = Capture::begin(stream, CaptureMode::Relaxed).map_err(cuda)?;
        // SAFETY: as many handles as the container counts; the stream is alive.
        let run = unsafe { container.run(handles.as_mut_slice(), outputs.as_mut_slice(), stream.as_raw()) };
        if let Err(error) = run {
            drop(capture);
            return Err(error.within("while it was recorded as a CUDA graph"));
        }
        let graph = capture
            .end()
            .map_err(cuda)
            .map_err(|e| e.within("while the method was recorded as a CUDA graph"))?;
        let outputs = (0..container.outputs())
            .map(|index| outputs.take(index).ok_or_else(|| no_output(index)))
            .collect::<Result<Vec<_>>>()?;
        self.recorded = Some(Recorded { outputs, graph, inputs: buffers });
        Ok(())
    }

    /// Launches what was recorded on other inputs of the same sizes, and waits for it.
    pub fn replay(
        &mut self,
        library: &'static Cuda,
        device: Device,
        stream: StreamRef,
        inputs: &Inputs<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<()> {
        let Some(recorded) = &mut self.recorded else {
            return Err(Error::new(ET_ERROR_INTERNAL, "nothing was recorded"));
        };
        for (index, buffer) in recorded.inputs.iter().enumerate() {
            let from = region(library, device, &inputs.tensor(index)?)
                .map_err(|e| e.within(format!("input {index}")))?;
            if from.bytes != buffer.len() {
                return Err(Error::new(
                    ET_ERROR_INVALID_ARGUMENT,
                    format!(
                        "input {index} has {} bytes, and {} when the method was recorded as a CUDA graph; its shapes must stay \
                         the same, or take it off the option enable_cuda_graph_for_method",
                        from.bytes,
                        buffer.len()
                    ),
                ));
            }
            copy(stream, Region { data: buffer.as_ptr(), bytes: buffer.len() }, from)?;
        }
        // SAFETY: the recording's memory is kept with it, and the launch is waited for below.
        unsafe { recorded.graph.launch(stream) }.map_err(cuda)?;
        let copied = copy_outputs(library, device, stream, &recorded.outputs, outputs);
        let done = stream.synchronize().map_err(cuda);
        copied.and(done)
    }
}

fn copy_outputs(
    library: &'static Cuda,
    device: Device,
    stream: StreamRef,
    recorded: &[Tensor],
    outputs: &mut Outputs<'_>,
) -> Result<()> {
    for (index, (output, from)) in outputs.tensors().zip(recorded).enumerate() {
        copy_back(library, device, stream, from, &mut output?)
            .map_err(|e| e.within(format!("output {index}")))?;
    }
    Ok(())
}

fn copy(stream: StreamRef, to: Region, from: Region) -> Result<()> {
    // SAFETY: both hold as many bytes, and stay until the stream is waited for.
    unsafe { memory::copy_async(stream, to.data, from.data, from.bytes, Kind::DeviceToDevice) }.map_err(cuda)
}
