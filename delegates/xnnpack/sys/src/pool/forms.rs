//! The functions that XNNPACK calls, one for each shape of range.
//!
//! The forms `_with_uarch`, which XNNPACK uses where the cores of a processor differ, pass the default kind of core:
//! it is always valid.

use super::grid::Grid;
use super::{pthreadpool_t, run};
use std::ffi::c_void;

/// The bodies' first argument. XNNPACK's bodies may use it on several threads at once.
struct Context(*mut c_void);

// SAFETY: the pointer is only handed on, to bodies that were written to share what it points to.
unsafe impl Sync for Context {}

impl Context {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// A type, in place of a name.
macro_rules! typed {
    ($name:ident $type:ty) => {
        $type
    };
}

/// Defines one function. Its ranges are listed slowest first; tile sizes belong to the last of them.
macro_rules! form {
    ($name:ident $(uarch $uarch:ident)? $(thread $thread:ident)? [$($range:ident)+] [$($tile:ident)*]) => {
        #[doc = concat!("`", stringify!($name), "` of `pthreadpool.h`.")]
        ///
        /// # Safety
        /// `pool` is null or a pool that is still there; `function` may be called with `context` from several threads at
        /// once, and does not unwind.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            pool: pthreadpool_t,
            function: Option<
                unsafe extern "C" fn(
                    *mut c_void,
                    $(typed!($uarch u32),)?
                    $(typed!($thread usize),)?
                    $(typed!($range usize),)+
                    $(typed!($tile usize),)*
                ),
            >,
            context: *mut c_void,
            $($uarch: u32, _max_uarch: u32,)?
            $($range: usize,)+
            $($tile: usize,)*
            flags: u32,
        ) {
            let Some(function) = function else { return };
            let context = Context(context);
            let grid = Grid::new([$($range),+], [$($tile),*]);
            let body = |_thread: usize, at: &super::Position<'_, _>| {
                $(let $thread = _thread;)?
                let [$($range),+] = at.starts();
                let [$($tile),*] = at.extents();
                // SAFETY: promised by the caller.
                unsafe { function(context.get(), $($uarch,)? $($thread,)? $($range,)+ $($tile),*) }
            };
            // SAFETY: promised by the caller.
            unsafe { run(pool, flags, &grid, body) }
        }
    };
}

form!(pthreadpool_parallelize_1d [i] []);
form!(pthreadpool_parallelize_1d_with_thread thread thread [i] []);
form!(pthreadpool_parallelize_1d_tile_1d[i][tile_i]);
form!(pthreadpool_parallelize_2d [i j] []);
form!(pthreadpool_parallelize_2d_with_thread thread thread [i j] []);
form!(pthreadpool_parallelize_2d_tile_1d [i j] [tile_j]);
form!(pthreadpool_parallelize_2d_tile_1d_with_uarch uarch uarch [i j] [tile_j]);
form!(pthreadpool_parallelize_2d_tile_2d [i j] [tile_i tile_j]);
form!(pthreadpool_parallelize_2d_tile_2d_with_uarch uarch uarch [i j] [tile_i tile_j]);
form!(pthreadpool_parallelize_3d [i j k] []);
form!(pthreadpool_parallelize_3d_tile_1d [i j k] [tile_k]);
form!(pthreadpool_parallelize_3d_tile_1d_with_thread thread thread [i j k] [tile_k]);
form!(pthreadpool_parallelize_3d_tile_1d_with_uarch uarch uarch [i j k] [tile_k]);
form!(pthreadpool_parallelize_3d_tile_1d_with_uarch_with_thread uarch uarch thread thread [i j k] [tile_k]);
form!(pthreadpool_parallelize_3d_tile_2d [i j k] [tile_j tile_k]);
form!(pthreadpool_parallelize_3d_tile_2d_with_uarch uarch uarch [i j k] [tile_j tile_k]);
form!(pthreadpool_parallelize_4d [i j k l] []);
form!(pthreadpool_parallelize_4d_tile_2d [i j k l] [tile_k tile_l]);
form!(pthreadpool_parallelize_4d_tile_2d_with_uarch uarch uarch [i j k l] [tile_k tile_l]);
form!(pthreadpool_parallelize_5d [i j k l m] []);
form!(pthreadpool_parallelize_5d_tile_2d [i j k l m] [tile_l tile_m]);
form!(pthreadpool_parallelize_6d_tile_2d [i j k l m n] [tile_m tile_n]);
