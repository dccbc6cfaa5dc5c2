//! The functions of `pthreadpool.h` against plain loops.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

extern crate executorch_threadpool as _;

use executorch_xnnpack_sys::pool::*;
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The kind of core that is passed through.
const UARCH: u32 = 7;

/// What a body was called with: first the starts, then the tile sizes.
type Call = Vec<usize>;

/// Collects the calls of one parallel call, and checks thread numbers.
struct Recorder {
    calls: Mutex<Vec<Call>>,
    /// By thread number: whether a body with it is running.
    busy: Vec<AtomicBool>,
    misused: AtomicBool,
}

impl Recorder {
    fn new(threads: usize) -> Self {
        let busy = (0..threads).map(|_| AtomicBool::new(false)).collect();
        Self { calls: Mutex::default(), busy, misused: AtomicBool::new(false) }
    }

    fn record(&self, uarch: Option<u32>, thread: Option<usize>, call: &[usize]) {
        let slot = thread.map(|thread| self.busy.get(thread));
        let wrong_thread = match slot {
            Some(Some(busy)) => busy.swap(true, SeqCst),
            Some(None) => true,
            None => false,
        };
        if wrong_thread || uarch.is_some_and(|uarch| uarch != UARCH) {
            self.misused.store(true, SeqCst);
        }
        self.calls.lock().unwrap().push(call.to_vec());
        std::hint::spin_loop();
        if let Some(Some(busy)) = slot {
            busy.store(false, SeqCst);
        }
    }
}

/// The calls that loops over `range` make, whose last dimensions are cut into `tiles`.
fn naive(range: &[usize], tiles: &[usize]) -> Vec<Call> {
    let untiled = range.len() - tiles.len();
    let mut calls = vec![(Vec::new(), Vec::new())];
    for (dim, &end) in range.iter().enumerate() {
        let mut longer = Vec::new();
        for (starts, sizes) in calls {
            let tile = if dim < untiled { 1 } else { tiles[dim - untiled] };
            for start in (0..end).step_by(tile) {
                let (mut starts, mut sizes): (Call, Call) = (starts.clone(), sizes.clone());
                starts.push(start);
                if dim >= untiled {
                    sizes.push(tile.min(end - start));
                }
                longer.push((starts, sizes));
            }
        }
        calls = longer;
    }
    calls.into_iter().map(|(starts, sizes)| [starts, sizes].concat()).collect()
}

/// Calls of `range` elements in all with every kind of pool.
fn check(range: &[usize], tiles: &[usize], call: impl Fn(pthreadpool_t, *mut c_void)) {
    let mut expected = naive(range, tiles);
    expected.sort();
    for threads in [0, 1, 2, 3, 5, 8, 9, 64, 100, 255] {
        let pool = Pool::new(threads.max(1));
        let pointer = if threads == 0 { ptr::null_mut() } else { pool.as_ptr() };
        let recorder = Recorder::new(pool.threads());
        call(pointer, (&raw const recorder).cast_mut().cast());
        assert!(!recorder.misused.load(SeqCst), "{threads} threads, {range:?} in {tiles:?}");
        let mut calls = recorder.calls.into_inner().unwrap();
        if pool.threads() == 1 {
            assert_eq!(calls, naive(range, tiles), "order of a serial call");
        }
        calls.sort();
        assert_eq!(calls, expected, "{threads} threads, {range:?} in {tiles:?}");
    }
}

/// One test for each form: random ranges and tiles, and empty ranges.
macro_rules! forms {
    ($($test:ident: $form:ident $(uarch $uarch:ident)? $(thread $thread:ident)? [$($range:ident)+] [$($tile:ident)*];)+) => {$(
        #[test]
        fn $test() {
            unsafe extern "C" fn body(
                context: *mut c_void,
                $($uarch: u32,)?
                $($thread: usize,)?
                $($range: usize,)+
                $($tile: usize,)*
            ) {
                // SAFETY: the context is the recorder of the call.
                let recorder = unsafe { &*context.cast::<Recorder>() };
                let (uarch, thread): (Option<u32>, Option<usize>) = (None, None);
                $(let uarch = uarch.or(Some($uarch));)?
                $(let thread = thread.or(Some($thread));)?
                recorder.record(uarch, thread, &[$($range,)+ $($tile,)*]);
            }
            let mut random = fastrand::Rng::with_seed(1);
            for round in 0..30 {
                $(let mut $range = random.usize(1..6);)+
                $(let $tile = random.usize(1..5);)*
                // Longer in the last dimension, and now and then empty in some dimension.
                let dims = [$(&mut $range),+];
                let last = dims.len() - 1;
                *dims[last] += random.usize(0..9);
                if round % 10 == 9 {
                    *dims[random.usize(0..=last)] = 0;
                }
                check(&[$($range),+], &[$($tile),*], |pool, context| {
                    // SAFETY: the pool and the recorder outlive the call.
                    unsafe {
                        $form(pool, Some(body), context, $({ let $uarch = UARCH; $uarch }, 9,)? $($range,)+ $($tile,)* round & 1)
                    }
                });
            }
        }
    )+};
}

forms! {
    form_1d: pthreadpool_parallelize_1d [i] [];
    form_1d_with_thread: pthreadpool_parallelize_1d_with_thread thread thread [i] [];
    form_1d_tile_1d: pthreadpool_parallelize_1d_tile_1d [i] [tile_i];
    form_2d: pthreadpool_parallelize_2d [i j] [];
    form_2d_with_thread: pthreadpool_parallelize_2d_with_thread thread thread [i j] [];
    form_2d_tile_1d: pthreadpool_parallelize_2d_tile_1d [i j] [tile_j];
    form_2d_tile_1d_with_uarch: pthreadpool_parallelize_2d_tile_1d_with_uarch uarch uarch [i j] [tile_j];
    form_2d_tile_2d: pthreadpool_parallelize_2d_tile_2d [i j] [tile_i tile_j];
    form_2d_tile_2d_with_uarch: pthreadpool_parallelize_2d_tile_2d_with_uarch uarch uarch [i j] [tile_i tile_j];
    form_3d: pthreadpool_parallelize_3d [i j k] [];
    form_3d_tile_1d: pthreadpool_parallelize_3d_tile_1d [i j k] [tile_k];
    form_3d_tile_1d_with_thread: pthreadpool_parallelize_3d_tile_1d_with_thread thread thread [i j k] [tile_k];
    form_3d_tile_1d_with_uarch: pthreadpool_parallelize_3d_tile_1d_with_uarch uarch uarch [i j k] [tile_k];
    form_3d_tile_1d_with_uarch_with_thread:
        pthreadpool_parallelize_3d_tile_1d_with_uarch_with_thread uarch uarch thread thread [i j k] [tile_k];
    form_3d_tile_2d: pthreadpool_parallelize_3d_tile_2d [i j k] [tile_j tile_k];
    form_3d_tile_2d_with_uarch: pthreadpool_parallelize_3d_tile_2d_with_uarch uarch uarch [i j k] [tile_j tile_k];
    form_4d: pthreadpool_parallelize_4d [i j k l] [];
    form_4d_tile_2d: pthreadpool_parallelize_4d_tile_2d [i j k l] [tile_k tile_l];
    form_4d_tile_2d_with_uarch: pthreadpool_parallelize_4d_tile_2d_with_uarch uarch uarch [i j k l] [tile_k tile_l];
    form_5d: pthreadpool_parallelize_5d [i j k l m] [];
    form_5d_tile_2d: pthreadpool_parallelize_5d_tile_2d [i j k l m] [tile_l tile_m];
    form_6d_tile_2d: pthreadpool_parallelize_6d_tile_2d [i j k l m n] [tile_m tile_n];
}

#[test]
fn a_pool_keeps_its_thread_count() {
    // SAFETY: null and a pool that is there.
    unsafe {
        assert_eq!(pthreadpool_get_threads_count(ptr::null_mut()), 1);
        assert_eq!(pthreadpool_get_threads_count(Pool::new(3).as_ptr()), 3);
    }
    assert_eq!(Pool::new(0).threads(), executorch_threadpool::thread_count());
    assert_eq!(Pool::new(1000).threads(), 255);
}

#[test]
fn no_body_is_no_call_and_an_empty_tile_is_one_index() {
    // SAFETY: without a function, the context is not used.
    unsafe { pthreadpool_parallelize_1d(ptr::null_mut(), None, ptr::null_mut(), 5, 0) };
    unsafe extern "C" fn body(context: *mut c_void, _start: usize, size: usize) {
        // SAFETY: the context is the counter below.
        unsafe { &*context.cast::<AtomicUsize>() }.fetch_add(size, SeqCst);
    }
    let indices = AtomicUsize::new(0);
    let context = (&raw const indices).cast_mut().cast();
    // SAFETY: the counter outlives the call.
    unsafe { pthreadpool_parallelize_1d_tile_1d(ptr::null_mut(), Some(body), context, 5, 0, 0) };
    assert_eq!(indices.into_inner(), 5);
}

#[test]
fn calls_nest() {
    struct Outer {
        pool: Pool,
        done: AtomicUsize,
    }
    unsafe extern "C" fn inner(context: *mut c_void, _index: usize) {
        // SAFETY: the context is the value below.
        unsafe { &*context.cast::<Outer>() }.done.fetch_add(1, SeqCst);
    }
    unsafe extern "C" fn outer(context: *mut c_void, _index: usize) {
        // SAFETY: the context is the value below, which outlives all calls.
        unsafe {
            let pool = (*context.cast::<Outer>()).pool.as_ptr();
            pthreadpool_parallelize_1d(pool, Some(inner), context, 11, 0);
        }
    }
    let all = Outer { pool: Pool::new(4), done: AtomicUsize::new(0) };
    let context = (&raw const all).cast_mut().cast();
    // SAFETY: the value outlives the call.
    unsafe { pthreadpool_parallelize_1d(all.pool.as_ptr(), Some(outer), context, 13, 0) };
    assert_eq!(all.done.into_inner(), 11 * 13);
}

#[test]
fn many_callers_and_many_tiles() {
    unsafe extern "C" fn body(context: *mut c_void, _thread: usize, index: usize) {
        // SAFETY: the context is the slice below, which is longer than any index.
        unsafe { &*context.cast::<AtomicUsize>().add(index) }.fetch_add(1, SeqCst);
    }
    std::thread::scope(|scope| {
        for threads in [2, 3, 7, 20] {
            scope.spawn(move || {
                let pool = Pool::new(threads);
                for tiles in [1000, 1001, 7] {
                    let seen: Vec<AtomicUsize> = (0..tiles).map(|_| AtomicUsize::new(0)).collect();
                    let context = seen.as_ptr().cast_mut().cast();
                    // SAFETY: pool and slice outlive the call.
                    unsafe {
                        pthreadpool_parallelize_1d_with_thread(pool.as_ptr(), Some(body), context, tiles, 0)
                    };
                    assert!(seen.iter().all(|count| count.load(SeqCst) == 1));
                }
            });
        }
    });
}

#[test]
fn denormals_are_flushed_where_that_is_asked_for_and_only_there() {
    struct Seen {
        tiny: f32,
        flushed: [AtomicUsize; 2],
    }
    unsafe extern "C" fn body(context: *mut c_void, _index: usize) {
        // SAFETY: the context is the value below.
        let seen = unsafe { &*context.cast::<Seen>() };
        let product = std::hint::black_box(seen.tiny) * std::hint::black_box(0.5);
        seen.flushed[usize::from(product == 0.0)].fetch_add(1, SeqCst);
        // Time for others to take part.
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    let halves = |tiny: f32| std::hint::black_box(tiny) * std::hint::black_box(0.5) == 0.0;
    for (flags, pool) in
        [0, 1, 2, 3].into_iter().flat_map(|flags| [(flags, None), (flags, Some(Pool::new(2)))])
    {
        let seen = Seen { tiny: f32::MIN_POSITIVE, flushed: Default::default() };
        let pointer = pool.as_ref().map_or(ptr::null_mut(), Pool::as_ptr);
        let context = (&raw const seen).cast_mut().cast();
        // SAFETY: pool and value outlive the call.
        unsafe { pthreadpool_parallelize_1d(pointer, Some(body), context, 20, flags) };
        let expected = if flags & 1 == 1 { [0, 20] } else { [20, 0] };
        assert_eq!(seen.flushed.map(AtomicUsize::into_inner), expected, "flags {flags}");
        assert!(!halves(f32::MIN_POSITIVE), "the caller's mode has not come back");
    }
}
