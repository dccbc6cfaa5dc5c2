//! The definitions fit the declarations that everybody else calls, and a repeated call allocates nothing.
#![cfg(not(miri))]

use executorch_abi::threadpool::{
    et_parallel_for, et_parallel_tasks, et_threadpool_get_thread_count, et_threadpool_get_thread_num,
    et_threadpool_guard_enter, et_threadpool_guard_leave, et_threadpool_set_thread_count,
};
// The declarations above are resolved by this crate.
use executorch_threadpool as _;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

unsafe extern "C" fn add_range(sum: *mut c_void, begin: i64, end: i64) {
    // SAFETY: the context of every call below.
    unsafe { &*sum.cast::<AtomicI64>() }.fetch_add((begin..end).sum(), Relaxed);
}

unsafe extern "C" fn add_index(sum: *mut c_void, index: usize) {
    // SAFETY: the context of every call below.
    unsafe { &*sum.cast::<AtomicI64>() }.fetch_add(index as i64, Relaxed);
}

#[test]
fn declared_functions_work_without_allocating() {
    let sum = AtomicI64::new(0);
    let context = (&raw const sum).cast_mut().cast();
    // SAFETY: the bodies add to `sum`, which outlives the calls.
    unsafe {
        assert_eq!(et_threadpool_set_thread_count(3), 0);
        assert_eq!(et_threadpool_get_thread_count(), 3);
        assert_eq!(et_threadpool_get_thread_num(), 0);
        assert_eq!(et_threadpool_set_thread_count(256), 0x12);
        let mut before = 0;
        for round in 0..1000 {
            if round == 1 {
                // The first round has started the workers.
                before = ALLOCATIONS.load(Relaxed);
            }
            sum.store(0, Relaxed);
            assert_eq!(et_parallel_for(0, 1000, 10, Some(add_range), context), 0);
            assert_eq!(et_parallel_tasks(100, Some(add_index), context), 0);
            et_threadpool_guard_enter();
            assert_eq!(et_parallel_tasks(100, Some(add_index), context), 0);
            et_threadpool_guard_leave();
            assert_eq!(sum.load(Relaxed), 499_500 + 2 * 4_950);
        }
        // The test harness has a thread of its own, which may allocate a little meanwhile.
        let allocations = ALLOCATIONS.load(Relaxed) - before;
        assert!(allocations < 100, "{allocations} allocations in 999 rounds");
    }
}
