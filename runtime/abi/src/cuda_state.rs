//! Several states of one loaded CUDA program (`libexecutorch_backend_cuda.so.1`).
//!
//! A program's methods may change buffers of its own, such as a key-value cache. A context gives one loaded program several
//! sessions, each with buffers of its own. In order: make a context; register the buffers' names; load the methods between
//! `et_cuda_state_begin_load` and `et_cuda_state_end_load`; create sessions; make one active on a thread, and run the methods
//! there. C++ has `executorch/backends/cuda/runtime/cuda_mutable_state.h` over this.
//!
//! Contexts and sessions are numbers, and may be used from any thread; one that is destroyed stays an invalid number.

use crate::error::et_error_t;
use std::ffi::c_char;

/// The session that is active where none is.
pub const ET_CUDA_STATE_NO_SESSION: i32 = -1;

unsafe extern "C" {
    /// Makes a context and returns its number, which is greater than 0; 0 if that failed.
    pub fn et_cuda_state_create() -> i32;

    /// Destroys a context and its sessions. Nothing happens if there is none.
    pub fn et_cuda_state_destroy(context: i32);

    /// Adds `count` names of mutable buffers, as the exported model calls them. `ET_ERROR_INVALID_STATE`, also for good, if a
    /// method was loaded already.
    pub fn et_cuda_state_register(context: i32, names: *const *const c_char, count: usize) -> et_error_t;

    /// What the calling thread loads from now on belongs to the context. `ET_ERROR_INVALID_STATE`, also for good, within
    /// another such scope of the thread.
    pub fn et_cuda_state_begin_load(context: i32) -> et_error_t;

    /// What the calling thread loads from now on belongs to no context.
    pub fn et_cuda_state_end_load();

    /// Whether methods were loaded for the context, and allow sessions.
    pub fn et_cuda_state_is_available(context: i32) -> bool;

    /// Bytes of device memory that one session takes; 0 before methods are loaded.
    pub fn et_cuda_state_bytes_per_session(context: i32) -> u64;

    /// Fails unless sessions can be created: `ET_ERROR_NOT_SUPPORTED` without methods that allow them,
    /// `ET_ERROR_INVALID_STATE` without names or after a mistake, `ET_ERROR_INVALID_PROGRAM` with a name that no method has.
    pub fn et_cuda_state_validate(context: i32) -> et_error_t;

    /// Creates a session and writes its number to `session`. Fails as `et_cuda_state_validate` does.
    pub fn et_cuda_state_create_session(context: i32, session: *mut i32) -> et_error_t;

    /// Destroys a session; no call may run in it. Nothing happens if there is none.
    pub fn et_cuda_state_destroy_session(context: i32, session: i32);

    /// The calling thread's calls run in this session from now on; in none with `ET_CUDA_STATE_NO_SESSION`. Once a context
    /// has had sessions, its methods run in none of them no more.
    pub fn et_cuda_state_set_active(context: i32, session: i32);
}
