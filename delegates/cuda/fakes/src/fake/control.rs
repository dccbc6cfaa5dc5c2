//! How tests steer the fake, through functions of the library: `fake_…`.

use super::state::state;
use super::*;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// Whether the slow path is needed: a failure is planned, or calls are counted by name.
static WATCHED: AtomicBool = AtomicBool::new(false);
/// Calls of all functions.
static CALLS: AtomicU64 = AtomicU64::new(0);
static PLAN: Mutex<Plan> = Mutex::new(Plan { calls: None, failures: Vec::new() });

struct Plan {
    calls: Option<HashMap<&'static str, u64>>,
    failures: Vec<Failure>,
}

/// A call that fails: the `left`-th from now on of a function, or of all if it names none.
struct Failure {
    name: String,
    left: u64,
    code: Code,
}

/// Called by every function first: what it is to fail with, if it is.
pub fn enter(name: &'static str) -> Code {
    CALLS.fetch_add(1, SeqCst);
    if !WATCHED.load(SeqCst) {
        return SUCCESS;
    }
    let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
    *plan.calls.get_or_insert_default().entry(name).or_default() += 1;
    let mut code = SUCCESS;
    plan.failures.retain_mut(|failure| {
        if failure.name.is_empty() || failure.name == name {
            failure.left = failure.left.saturating_sub(1);
            if failure.left == 0 {
                code = failure.code;
                return false;
            }
        }
        true
    });
    code
}

/// # Safety
/// A NUL-terminated text.
unsafe fn text<'a>(text: *const c_char) -> &'a str {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

/// Lets the `at`-th call from now on (1 is the next) of a function fail; of any function if the name is empty.
///
/// # Safety
/// The name is NUL-terminated.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub unsafe extern "C" fn fake_fail(name: *const c_char, at: u64, code: Code) {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) }.to_owned();
    PLAN.lock().unwrap_or_else(PoisonError::into_inner).failures.push(Failure { name, left: at, code });
    WATCHED.store(true, SeqCst);
}

/// Counts calls by name from now on, from 0, and plans no failures.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub extern "C" fn fake_watch() {
    *PLAN.lock().unwrap_or_else(PoisonError::into_inner) =
        Plan { calls: Some(HashMap::new()), failures: Vec::new() };
    WATCHED.store(true, SeqCst);
}

/// Counts no calls by name and plans no failures.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub extern "C" fn fake_unwatch() {
    WATCHED.store(false, SeqCst);
    *PLAN.lock().unwrap_or_else(PoisonError::into_inner) = Plan { calls: None, failures: Vec::new() };
}

/// Calls of a function since `fake_watch`; of all functions since the start if the name is empty.
///
/// # Safety
/// The name is NUL-terminated.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub unsafe extern "C" fn fake_calls(name: *const c_char) -> u64 {
    // SAFETY: the caller's promise.
    match unsafe { text(name) } {
        "" => CALLS.load(SeqCst),
        name => {
            let plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
            plan.calls.as_ref().and_then(|calls| calls.get(name)).copied().unwrap_or(0)
        }
    }
}

/// What is there of a kind: `blocks`, `bytes`, `streams`, `events`, `graphs`, `executables`, `modules`, `pending` or
/// `faults`; or the `last_stream` on which something was enqueued.
///
/// # Safety
/// The kind is NUL-terminated.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub unsafe extern "C" fn fake_live(kind: *const c_char) -> u64 {
    let state = state();
    // SAFETY: the caller's promise.
    let count = match unsafe { text(kind) } {
        "blocks" => state.blocks.len(),
        "bytes" => state.blocks.values().map(|block| block.size).sum(),
        "streams" => state.streams.len(),
        "events" => state.events.len(),
        "graphs" => state.graphs.len(),
        "executables" => state.executables.len(),
        "modules" => state.modules.len(),
        "pending" => state.pending.len(),
        "faults" => state.faults.len(),
        "last_stream" => state.last_stream,
        _ => usize::MAX,
    };
    count as u64
}

/// Sets what the machine has: `devices`, `driver_version` (13000 is 13.0), `capability` (90 is 9.0) or `memory` (bytes).
///
/// # Safety
/// The name is NUL-terminated.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub unsafe extern "C" fn fake_set(name: *const c_char, value: i64) {
    let mut state = state();
    let number = i32::try_from(value).unwrap_or(i32::MAX);
    // SAFETY: the caller's promise.
    match unsafe { text(name) } {
        "devices" => state.devices = number,
        "driver_version" => state.driver_version = number,
        "capability" => state.capability = (number / 10, number % 10),
        "memory" => state.memory = usize::try_from(value).unwrap_or(usize::MAX),
        _ => {}
    }
}

/// Copies the text of fault `index` to `text`, cut to `size` bytes with its NUL; 0 past the end.
///
/// # Safety
/// `text` holds `size` bytes.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub unsafe extern "C" fn fake_fault(index: usize, text: *mut c_char, size: usize) -> usize {
    let state = state();
    let Some(fault) = state.faults.get(index) else { return 0 };
    let length = fault.len().min(size.saturating_sub(1));
    // SAFETY: the caller's promise.
    unsafe {
        text.cast::<u8>().copy_from(fault.as_ptr(), length);
        text.add(length).write(0);
    }
    length
}

/// Forgets the faults.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub extern "C" fn fake_forgive() {
    state().faults.clear();
}
