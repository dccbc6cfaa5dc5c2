//! The planned buffers of a method: its own or the caller's, each on its device.

use super::memory::Block;
use crate::device::{DeviceBlock, copy_from_host};
use crate::ir::{Device, Place, Plan, PlannedBuffer};
use crate::source::in_memory;
use executorch_abi::error::*;
use executorch_abi::memory::et_arena_t;
use executorch_abi::{Error, Result};
use std::ffi::c_void;
use std::{ptr, slice};

/// The planned buffers of a method.
#[derive(Debug)]
pub struct Arenas {
    buffers: Vec<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    start: *mut c_void,
    size: usize,
    device: Device,
    /// Its memory, unless the caller owns it.
    _memory: Memory,
}

#[derive(Debug)]
#[expect(dead_code, reason = "kept for its drop")]
enum Memory {
    Host(Block),
    Device(DeviceBlock),
    Given,
}

fn place(index: usize, buffer: &PlannedBuffer) -> String {
    format!("planned buffer {index} ({} bytes on {})", buffer.size, buffer.device)
}

impl Arenas {
    /// Buffers that the method owns.
    pub fn own(plan: &Plan) -> Result<Self> {
        let allocate = |(index, planned): (usize, &PlannedBuffer)| {
            let allocate = || {
                let (size, device) = (in_memory(planned.size)?, planned.device);
                let (start, memory) = if device.is_host() {
                    let block = Block::zeroed(size)?;
                    (block.data().cast(), Memory::Host(block))
                } else {
                    let block = DeviceBlock::new(device, size)?;
                    (block.data(), Memory::Device(block))
                };
                Ok(Buffer { start, size, device, _memory: memory })
            };
            allocate().map_err(|e: Error| e.within(place(index, planned)))
        };
        let buffers = plan.buffers.iter().enumerate().map(allocate).collect::<Result<_>>()?;
        Ok(Self { buffers })
    }

    /// Buffers of the caller.
    pub fn given(plan: &Plan, given: &[et_arena_t]) -> Result<Self> {
        if given.len() < plan.buffers.len() {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("{} planned buffers were given, the method has {}", given.len(), plan.buffers.len()),
            ));
        }
        let take = |(index, (arena, planned)): (usize, (&et_arena_t, &PlannedBuffer))| {
            take(arena, planned).map_err(|e| e.within(place(index, planned)))
        };
        let buffers = given.iter().zip(&plan.buffers).enumerate().map(take).collect::<Result<_>>()?;
        Ok(Self { buffers })
    }

    /// The address of a place, on its buffer's device; null if the buffer has no memory.
    pub fn at(&self, place: Place) -> *mut c_void {
        let start = self.buffers.get(place.buffer as usize).map_or(ptr::null_mut(), |b| b.start);
        if start.is_null() { start } else { start.cast::<u8>().wrapping_add(place.offset as usize).cast() }
    }

    /// Lets `write` fill `size` bytes at a place, which nobody uses meanwhile: where they are, or on the host for a
    /// device.
    pub fn fill(&self, place: Place, size: usize, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let Some(buffer) = self.buffers.get(place.buffer as usize) else { return Ok(()) };
        let offset = place.offset as usize;
        let fits = offset.checked_add(size).is_some_and(|end| end <= buffer.size);
        if size == 0 || buffer.start.is_null() || !fits {
            return write(&mut []);
        }
        let data = self.at(place);
        if buffer.device.is_host() {
            // SAFETY: the range lies within the buffer, which nobody uses while a method is loaded.
            return write(unsafe { slice::from_raw_parts_mut(data.cast(), size) });
        }
        let staged = Block::zeroed(size)?;
        // SAFETY: the block is this function's alone, and has `size` bytes.
        write(unsafe { slice::from_raw_parts_mut(staged.data(), size) })?;
        // SAFETY: as above, and the range lies within the buffer on the device.
        unsafe { copy_from_host(buffer.device, data, staged.data().cast(), size) }
    }
}

/// Checks that a buffer of the caller is what the method needs.
fn take(arena: &et_arena_t, planned: &PlannedBuffer) -> Result<Buffer> {
    let given = Device { kind: arena.device_type, index: arena.device_index };
    let bad = |message: String| Err(Error::new(ET_ERROR_INVALID_ARGUMENT, message));
    // The host is one, however it is numbered.
    if given.kind != planned.device.kind || (!given.is_host() && given.index != planned.device.index) {
        return bad(format!(
            "was given on {given}; give memory of {} (MethodMeta::memory_planned_buffer_device tells where each buffer has \
             to be), or let the runtime allocate it",
            planned.device
        ));
    }
    if (arena.size as u64) < planned.size {
        return Err(Error::new(
            ET_ERROR_MEMORY_ALLOCATION_FAILED,
            format!("was given {} bytes, the method needs {}", arena.size, planned.size),
        ));
    }
    if planned.size > 0 && (arena.data.is_null() || !arena.data.addr().is_multiple_of(16)) {
        return bad("must be given at an address that is a multiple of 16".into());
    }
    let size = in_memory(planned.size)?;
    Ok(Buffer { start: arena.data, size, device: planned.device, _memory: Memory::Given })
}
