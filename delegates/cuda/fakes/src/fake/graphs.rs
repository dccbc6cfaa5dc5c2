//! Captures and graphs.

use super::state::{Capture, Op, state};
use super::*;
use std::ffi::c_ulonglong;
use std::sync::Arc;

fn instantiate(out: *mut usize, graph: usize) -> Result<(), Code> {
    let mut state = state();
    let ops = Arc::clone(state.graphs.get(&graph).ok_or(INVALID_HANDLE)?);
    let executable = state.handle();
    state.executables.insert(executable, ops);
    // SAFETY: CUDA's rule, that there is a place for the handle.
    unsafe { out.write(executable) };
    Ok(())
}

api! {
    fn cudaStreamBeginCapture(stream: usize, _mode: i32) {
        match state().streams.get_mut(&stream) {
            Some(place @ None) => *place = Some(Capture::default()),
            Some(Some(capture)) => {
                capture.invalid = true;
                return Err(CAPTURE_UNSUPPORTED);
            }
            // The default streams cannot be captured.
            None => return Err(CAPTURE_UNSUPPORTED),
        }
    }
    #[free]
    fn cudaStreamEndCapture(stream: usize, out: *mut usize) {
        let mut state = state();
        let capture = state.streams.get_mut(&stream).and_then(Option::take).ok_or(INVALID_VALUE)?;
        out.write(0);
        if capture.invalid {
            for op in capture.ops {
                if let Op::Free(address) = op { state.free(address)?; }
            }
            return Err(CAPTURE_INVALIDATED);
        }
        let graph = state.handle();
        // Memory that was allocated during the capture stays the graph's: each launch uses the same.
        state.graphs.insert(graph, Arc::from(capture.ops));
        out.write(graph);
    }
    fn cudaGraphInstantiate(out: *mut usize, graph: usize, _flags: c_ulonglong) { instantiate(out, graph)?; }
    fn cudaGraphInstantiateWithFlags(out: *mut usize, graph: usize, _flags: c_ulonglong) { instantiate(out, graph)?; }
    fn cudaGraphLaunch(executable: usize, stream: usize) {
        let mut state = state();
        let ops = Arc::clone(state.executables.get(&executable).ok_or(INVALID_HANDLE)?);
        for op in ops.iter() {
            if !matches!(op, Op::Free(_)) { state.enqueue(stream, op.clone())?; }
        }
    }
    #[free]
    fn cudaGraphExecDestroy(executable: usize) {
        state().executables.remove(&executable).map(drop).ok_or(INVALID_HANDLE)?;
    }
    #[free]
    fn cudaGraphDestroy(graph: usize) {
        let mut state = state();
        let ops = state.graphs.remove(&graph).ok_or(INVALID_HANDLE)?;
        state.flush()?;
        // What the graph allocated and freed goes with it.
        for op in ops.iter() {
            if let Op::Free(address) = op { state.free(*address)?; }
        }
    }
}
