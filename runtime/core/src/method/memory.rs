//! Memory of a method: planned buffers, arrays with stable addresses, and scratch for one instruction.

use executorch_abi::error::*;
use executorch_abi::memory::et_allocator_t;
use executorch_abi::{Error, Result};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Planned buffers and scratch start at a cache line.
const ALIGNMENT: usize = 64;

fn exhausted(size: usize) -> Error {
    Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, format!("{size} bytes of memory could not be allocated"))
}

/// Items at an address that never changes. They are reached through raw pointers alone, since kernels, lists and
/// callers hold pointers to them.
#[derive(Debug)]
pub struct Table<T> {
    data: *mut T,
    length: usize,
}

impl<T> Table<T> {
    /// Moves items to a table.
    pub fn new(items: Vec<T>) -> Self {
        let length = items.len();
        Self { data: Box::into_raw(items.into_boxed_slice()).cast(), length }
    }

    /// The address of an item; null past the end.
    pub fn at(&self, index: usize) -> *mut T {
        if index < self.length { self.data.wrapping_add(index) } else { ptr::null_mut() }
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: `new` made the box of exactly this slice, and it is freed once.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.data, self.length)) });
    }
}

/// What the system's allocator gives without more ado. Asked for more, it would write to all of the memory to zero it,
/// while pages that come from the kernel are zero, and take no memory before somebody writes to them.
const GIVEN_ALIGNMENT: usize = 16;

/// Blocks of as many bytes are worth a call of the system.
const SEVERAL_PAGES: usize = 64 << 10;
/// Larger blocks get their pages one by one, as somebody writes to them: a program may ask for much more than it uses.
const LARGE: usize = 4 << 20;

/// Memory that the runtime allocated.
#[derive(Debug)]
pub struct Block {
    /// The allocation, in which the block starts at the first cache line.
    base: NonNull<u8>,
    layout: Layout,
    size: usize,
}

// SAFETY: a block owns its memory; who shares one does not write to it any more.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Zeroed memory.
    pub fn zeroed(size: usize) -> Result<Self> {
        let padded = size.checked_add(ALIGNMENT).ok_or_else(|| exhausted(size))?;
        let layout = Layout::from_size_align(padded, GIVEN_ALIGNMENT).map_err(|_| exhausted(size))?;
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| exhausted(size))?;
        let block = Self { base, layout, size };
        if (SEVERAL_PAGES..=LARGE).contains(&size) {
            block.populate();
        }
        Ok(block)
    }

    /// Takes the pages from the system at once: one call costs less than a fault for each when they are first used.
    fn populate(&self) {
        // SAFETY: asks for the system's page size.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
        let base = self.base.as_ptr();
        let skipped = base.addr().next_multiple_of(page) - base.addr();
        let size = self.layout.size().saturating_sub(skipped) / page * page;
        // Best effort: systems before Linux 5.14 refuse it.
        // SAFETY: whole pages within the allocation, whose contents stay as they are.
        unsafe { libc::madvise(base.wrapping_add(skipped).cast(), size, libc::MADV_POPULATE_WRITE) };
    }

    /// Its first byte.
    pub fn data(&self) -> *mut u8 {
        // At most `ALIGNMENT` bytes, by which the allocation is longer.
        let base = self.base.as_ptr();
        base.wrapping_add(base.addr().next_multiple_of(ALIGNMENT) - base.addr())
    }

    fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// Memory for one instruction. It grows to what the largest one needs and then allocates no more. Its bytes are
/// initialised, with whatever the instruction before left there.
#[derive(Debug, Default)]
pub struct Scratch {
    blocks: Vec<Block>,
    used: usize,
    /// What this instruction asked for, alignment included.
    wanted: usize,
    caller: Option<et_allocator_t>,
}

impl Scratch {
    /// Scratch that the caller's allocator serves, if there is one.
    pub fn new(caller: Option<et_allocator_t>) -> Self {
        Self { caller, ..Self::default() }
    }

    /// Memory until the next reset, holding bytes of any value. `alignment` is a power of two.
    pub fn allocate(&mut self, size: usize, alignment: usize) -> Result<*mut c_void> {
        if !alignment.is_power_of_two() {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("the alignment {alignment} is no power of two"),
            ));
        }
        if let Some(caller) = self.caller {
            let allocate = caller.allocate.ok_or_else(|| exhausted(size))?;
            // SAFETY: the caller's allocator obeys the ABI.
            let data = unsafe { allocate(caller.user_data, size, alignment) };
            if data.is_null() && size > 0 {
                return Err(exhausted(size));
            }
            // Kernels in Rust may look at it before they write it.
            // SAFETY: the allocator gave `size` bytes.
            unsafe { ptr::write_bytes(data.cast::<u8>(), 0, size) };
            return Ok(data);
        }
        let need = size.checked_add(alignment).ok_or_else(|| exhausted(size))?;
        self.wanted = self.wanted.saturating_add(need);
        if self.blocks.last().is_none_or(|b| b.size() - self.used < need) {
            self.blocks.push(Block::zeroed(need)?);
            self.used = 0;
        }
        let block = self.blocks.last().ok_or_else(|| exhausted(size))?;
        let free = block.data().wrapping_add(self.used);
        let skip = free.align_offset(alignment);
        self.used += skip + size;
        Ok(free.wrapping_add(skip).cast())
    }

    /// Makes sure that `size` bytes can be had without asking the system.
    pub fn reserve(&mut self, size: usize, alignment: usize) -> Result<()> {
        let need = size.checked_add(alignment).ok_or_else(|| exhausted(size))?;
        if self.caller.is_none() && self.blocks.iter().all(|b| b.size() < need) {
            self.blocks = vec![Block::zeroed(need)?];
            self.used = 0;
        }
        Ok(())
    }

    /// Takes all memory back.
    pub fn reset(&mut self) {
        if let Some(caller) = self.caller {
            if let Some(reset) = caller.reset {
                // SAFETY: the caller's allocator obeys the ABI.
                unsafe { reset(caller.user_data) }
            }
            return;
        }
        if self.blocks.len() > 1 {
            // One block that holds all; if it cannot be had, the largest one stays.
            match Block::zeroed(self.wanted) {
                Ok(block) => self.blocks = vec![block],
                Err(_) => self.blocks.truncate(1),
            }
        }
        self.used = 0;
        self.wanted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_settles_on_one_block() {
        let mut scratch = Scratch::default();
        for round in 0..3 {
            let a = scratch.allocate(1000, 64).unwrap();
            let b = scratch.allocate(5000, 256).unwrap();
            assert!(a.addr().is_multiple_of(64) && b.addr().is_multiple_of(256));
            assert!(a.addr() + 1000 <= b.addr() || b.addr() + 5000 <= a.addr());
            scratch.reset();
            assert_eq!(scratch.blocks.len(), 1, "round {round}");
        }
        assert!(scratch.allocate(usize::MAX, 64).is_err());
        assert!(scratch.allocate(1, 3).is_err());
    }
}
