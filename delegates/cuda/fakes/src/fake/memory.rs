//! Memory and copies.

use super::state::{Kind, Op, State, state};
use super::*;
use std::ffi::{c_uint, c_void};

/// As `cudaMemcpy`: behind all that waits, and done when it returns.
fn copy_now(to: usize, from: usize, size: usize) -> Result<(), Code> {
    let mut state = state();
    state.implicit()?;
    if size > 0 {
        state.pending.push(Op::Copy { to, from, size });
    }
    state.flush()
}

fn new(size: usize, kind: Kind, out: *mut usize) -> Result<(), Code> {
    if out.is_null() {
        return Err(INVALID_VALUE);
    }
    let address = state().allocate(size, kind, device::current())?;
    // SAFETY: CUDA's rule, that there is a place for the address.
    unsafe { out.write(address) };
    Ok(())
}

/// Frees after all that waits, as `cudaFree` does.
fn free_now(address: usize) -> Result<(), Code> {
    let mut state = state();
    let _the_free_tells = state.flush();
    state.free(address)
}

/// What `cudaPointerGetAttributes` writes.
#[repr(C)]
pub struct Attributes {
    kind: i32,
    device: i32,
    on_device: usize,
    on_host: usize,
}

fn attributes(state: &State, address: usize) -> Attributes {
    match state.block(address) {
        None => Attributes { kind: 0, device: -2, on_device: 0, on_host: address },
        Some((_, block)) => Attributes {
            kind: block.kind as i32,
            device: block.device,
            on_device: address,
            on_host: if block.kind == Kind::Device { 0 } else { address },
        },
    }
}

api! {
    fn cudaMalloc(out: *mut usize, size: usize) { new(size, Kind::Device, out)?; }
    fn cudaMallocManaged(out: *mut usize, size: usize, _flags: c_uint) { new(size, Kind::Managed, out)?; }
    fn cudaMallocHost(out: *mut usize, size: usize) { new(size, Kind::Host, out)?; }
    fn cudaHostAlloc(out: *mut usize, size: usize, _flags: c_uint) { new(size, Kind::Host, out)?; }
    #[free]
    fn cudaFree(address: usize) { free_now(address)?; }
    #[free]
    fn cudaFreeHost(address: usize) { free_now(address)?; }
    fn cudaMallocAsync(out: *mut usize, size: usize, stream: usize) {
        // A stream that captures gives memory that is there from now on; the launches of the graph use the same.
        match state().streams.get(&stream) {
            Some(Some(capture)) if capture.invalid => return Err(CAPTURE_INVALIDATED),
            None if stream > 2 => return Err(INVALID_HANDLE),
            _ => {}
        }
        new(size, Kind::Device, out)?;
    }
    #[free]
    fn cudaFreeAsync(address: usize, stream: usize) {
        let mut state = state();
        if address != 0 && !state.blocks.contains_key(&address) {
            state.faults.push(format!("{address:#x} was freed, which is no block"));
            return Err(INVALID_VALUE);
        }
        if let Some(Some(capture)) = state.streams.get(&stream)
            && capture.invalid
        {
            // Nothing of the capture will be there.
            state.free(address)?;
            return Err(CAPTURE_INVALIDATED);
        }
        state.enqueue(stream, Op::Free(address))?;
    }
    fn cudaMemcpy(to: usize, from: usize, size: usize, _kind: i32) { copy_now(to, from, size)?; }
    fn cudaMemcpyAsync(to: usize, from: usize, size: usize, _kind: i32, stream: usize) {
        state().enqueue(stream, Op::Copy { to, from, size })?;
    }
    fn cudaMemset(to: usize, value: i32, size: usize) {
        let mut state = state();
        state.implicit()?;
        state.pending.push(Op::Fill { to, value: value as u8, size });
    }
    fn cudaMemsetAsync(to: usize, value: i32, size: usize, stream: usize) {
        state().enqueue(stream, Op::Fill { to, value: value as u8, size })?;
    }
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) {
        let state = state();
        let used: usize = state.blocks.values().map(|block| block.size).sum();
        free.write(state.memory.saturating_sub(used));
        total.write(state.memory);
    }
    fn cudaPointerGetAttributes(out: *mut Attributes, address: usize) {
        let state = state();
        if state.devices == 0 { return Err(NO_DEVICE); }
        out.write(attributes(&state, address));
    }

    fn cuMemAlloc_v2(out: *mut usize, size: usize) { new(size, Kind::Device, out)?; }
    #[free]
    fn cuMemFree_v2(address: usize) { free_now(address)?; }
    fn cuMemcpyHtoD_v2(to: usize, from: usize, size: usize) { copy_now(to, from, size)?; }
    fn cuMemcpyDtoH_v2(to: usize, from: usize, size: usize) { copy_now(to, from, size)?; }
    fn cuMemcpyDtoD_v2(to: usize, from: usize, size: usize) { copy_now(to, from, size)?; }
    fn cuPointerGetAttribute(out: *mut c_void, number: i32, address: usize) {
        let found = attributes(&state(), address);
        if found.kind == 0 { return Err(INVALID_VALUE); }
        match number {
            2 => out.cast::<i32>().write(if found.kind == 1 { 1 } else { 2 }),
            9 => out.cast::<i32>().write(found.device),
            _ => return Err(INVALID_VALUE),
        }
    }
}
