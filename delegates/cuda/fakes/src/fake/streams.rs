//! Streams and events.

use super::state::{Event, Op, state};
use super::*;
use std::ffi::{c_uint, c_void};

fn create(out: *mut usize) -> Result<(), Code> {
    if out.is_null() {
        return Err(INVALID_VALUE);
    }
    let mut state = state();
    if state.devices == 0 {
        return Err(NO_DEVICE);
    }
    let stream = state.handle();
    state.streams.insert(stream, None);
    // SAFETY: CUDA's rule, that there is a place for the handle.
    unsafe { out.write(stream) };
    Ok(())
}

/// Waits for all; an error if the stream captures.
fn wait(stream: usize) -> Result<(), Code> {
    let mut state = state();
    match state.streams.get_mut(&stream) {
        Some(Some(capture)) => {
            capture.invalid = true;
            return Err(CAPTURE_UNSUPPORTED);
        }
        Some(None) => {}
        None if stream <= 2 => state.implicit()?,
        None => return Err(INVALID_HANDLE),
    }
    state.flush()
}

fn new_event(out: *mut usize) -> Result<(), Code> {
    if out.is_null() {
        return Err(INVALID_VALUE);
    }
    let mut state = state();
    let event = state.handle();
    state.events.insert(event, Event::default());
    // SAFETY: as above.
    unsafe { out.write(event) };
    Ok(())
}

api! {
    fn cudaStreamCreate(out: *mut usize) { create(out)?; }
    fn cudaStreamCreateWithFlags(out: *mut usize, _flags: c_uint) { create(out)?; }
    fn cudaStreamCreateWithPriority(out: *mut usize, _flags: c_uint, _priority: i32) { create(out)?; }
    #[free]
    fn cudaStreamDestroy(stream: usize) {
        // What is on it runs to its end.
        state().streams.remove(&stream).map(drop).ok_or(INVALID_HANDLE)?;
    }
    fn cudaStreamSynchronize(stream: usize) { wait(stream)?; }
    fn cudaStreamQuery(stream: usize) {
        let mut state = state();
        if stream > 2 && !state.streams.contains_key(&stream) { return Err(INVALID_HANDLE); }
        if state.captures(stream) { return Err(CAPTURE_UNSUPPORTED); }
        // The time passes: the next to ask finds it done.
        if !state.pending.is_empty() {
            state.flush()?;
            return Err(NOT_READY);
        }
    }
    fn cudaStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) {
        // All runs in the order in which it was enqueued.
        let state = state();
        if stream > 2 && !state.streams.contains_key(&stream) || !state.events.contains_key(&event) {
            return Err(INVALID_HANDLE);
        }
    }
    fn cudaStreamIsCapturing(stream: usize, status: *mut i32) {
        status.write(match state().streams.get(&stream) {
            Some(Some(capture)) if capture.invalid => 2,
            Some(Some(_)) => 1,
            Some(None) => 0,
            None if stream <= 2 => 0,
            None => return Err(INVALID_HANDLE),
        });
    }
    fn cudaLaunchHostFunc(stream: usize, function: unsafe extern "C" fn(*mut c_void), data: usize) {
        state().enqueue(stream, Op::Host { function, data })?;
    }

    fn cudaEventCreate(out: *mut usize) { new_event(out)?; }
    fn cudaEventCreateWithFlags(out: *mut usize, _flags: c_uint) { new_event(out)?; }
    #[free]
    fn cudaEventDestroy(event: usize) {
        state().events.remove(&event).map(drop).ok_or(INVALID_HANDLE)?;
    }
    fn cudaEventRecord(event: usize, stream: usize) {
        let mut state = state();
        let captured = state.captures(stream);
        let entry = state.events.get_mut(&event).ok_or(INVALID_HANDLE)?;
        entry.captured = captured;
        if !captured {
            entry.recorded += 1;
            let turn = entry.recorded;
            state.enqueue(stream, Op::Record { event, turn })?;
        }
    }
    fn cudaEventSynchronize(event: usize) {
        let mut state = state();
        let found = state.events.get(&event).ok_or(INVALID_HANDLE)?;
        if found.captured { return Err(CAPTURED_EVENT); }
        if found.done < found.recorded { state.flush()?; }
    }
    fn cudaEventQuery(event: usize) {
        let mut state = state();
        let found = state.events.get(&event).ok_or(INVALID_HANDLE)?;
        if found.captured { return Err(CAPTURED_EVENT); }
        if found.done < found.recorded {
            state.flush()?;
            return Err(NOT_READY);
        }
    }
    fn cudaEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) {
        let state = state();
        if !state.events.contains_key(&start) || !state.events.contains_key(&end) { return Err(INVALID_HANDLE); }
        milliseconds.write(1.0);
    }
}
