//! An allocator that counts, for tests of what the runtime allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counted.
pub struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static TELL: AtomicBool = AtomicBool::new(false);

fn took(data: *mut u8, size: usize) -> *mut u8 {
    if data.is_null() {
        return data;
    }
    if TELL.swap(false, Relaxed) {
        eprintln!("{}", std::backtrace::Backtrace::force_capture());
    }
    CALLS.fetch_add(1, Relaxed);
    PEAK.fetch_max(BYTES.fetch_add(size, Relaxed) + size, Relaxed);
    data
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, here and below.
        took(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        took(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(data, layout) }
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = took(unsafe { System.realloc(data, layout, size) }, size);
        if !moved.is_null() {
            BYTES.fetch_sub(layout.size(), Relaxed);
        }
        moved
    }
}

/// How often memory was asked for since the process started.
pub fn calls() -> usize {
    CALLS.load(Relaxed)
}

/// Bytes in use.
pub fn bytes() -> usize {
    BYTES.load(Relaxed)
}

/// The most bytes in use since the last call.
pub fn peak() -> usize {
    PEAK.swap(BYTES.load(Relaxed), Relaxed)
}

/// Whether the next allocation prints where it happens.
pub fn tell(next: bool) {
    TELL.store(next, Relaxed);
}
