//! Event tracing: a table of callbacks that a method calls while it loads and runs.

use crate::error::et_error_t;
use crate::value::et_value_t;
use std::ffi::{c_char, c_void};

/// Flag of [`et_event_tracer_t::flags`]: call `log_value` for every output of every instruction. A delegate does not
/// say which of its arguments it writes, so all are logged. Calls that were run at load are not seen.
pub const ET_TRACER_LOG_INTERMEDIATE: u32 = 1;
/// Flag of [`et_event_tracer_t::flags`]: call `log_value` for every output of the method after a whole run.
pub const ET_TRACER_LOG_OUTPUTS: u32 = 2;

/// Where in the program an event happens.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_event_place_t {
    /// The chain's index, -1 outside of one.
    pub chain: i32,
    /// The instruction's index in its chain, -1 outside of one.
    pub instruction: i64,
    /// A delegate's own integer id, -1 if it has none.
    pub delegate_id: i32,
    /// Zero.
    pub reserved: u32,
    /// A delegate's own name for the event; null if it has none.
    pub delegate_name: *const c_char,
}

/// Callbacks of a tracer. Null entries are skipped; a method without a tracer pays one branch an instruction.
/// Called by the thread that runs the method.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_event_tracer_t {
    /// `sizeof(et_event_tracer_t)`.
    pub struct_size: u32,
    /// `ET_TRACER_…` flags.
    pub flags: u32,
    /// Passed to every function.
    pub user_data: *mut c_void,
    /// Starts a block of events: `"Default"` when a method is loaded, `"Execute"` for a run.
    pub begin_block: Option<unsafe extern "C" fn(user_data: *mut c_void, name: *const c_char)>,
    /// Starts an event and returns a token for its end.
    pub begin_event: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            name: *const c_char,
            place: *const et_event_place_t,
        ) -> u64,
    >,
    /// Ends the event of a token. `metadata` (a delegate's bytes) may be null.
    pub end_event: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            token: u64,
            metadata: *const c_void,
            metadata_size: usize,
        ),
    >,
    /// Records a whole event of a delegate, whose clock gave both times.
    pub log_event: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            name: *const c_char,
            place: *const et_event_place_t,
            start: u64,
            end: u64,
            metadata: *const c_void,
            metadata_size: usize,
        ),
    >,
    /// Records a value; the bytes must be copied before it returns.
    pub log_value: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            place: *const et_event_place_t,
            value: *const et_value_t,
            is_output: bool,
        ) -> et_error_t,
    >,
    /// Announces an allocator by name and returns its number.
    pub track_allocator: Option<unsafe extern "C" fn(user_data: *mut c_void, name: *const c_char) -> u32>,
    /// Records an allocation of a tracked allocator.
    pub track_allocation: Option<unsafe extern "C" fn(user_data: *mut c_void, allocator: u32, size: usize)>,
}
