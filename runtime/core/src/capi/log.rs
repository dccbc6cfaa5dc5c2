//! Logging.

use super::abi;
use executorch_abi::log::*;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{PoisonError, RwLock};

#[derive(Clone, Copy)]
struct Handler {
    call: et_log_handler_t,
    user_data: *mut c_void,
    /// Whether the program chose; until then the environment does.
    chosen: bool,
}

// SAFETY: the ABI asks that a handler may be called from any thread.
unsafe impl Send for Handler {}
// SAFETY: as above.
unsafe impl Sync for Handler {}

static HANDLER: RwLock<Handler> =
    RwLock::new(Handler { call: None, user_data: std::ptr::null_mut(), chosen: false });

fn rank(level: et_log_level_t) -> u8 {
    match level {
        ET_LOG_DEBUG => 0,
        ET_LOG_INFO => 1,
        ET_LOG_ERROR => 2,
        _ => 3,
    }
}

fn environment_allows(level: et_log_level_t) -> bool {
    let least = match std::env::var("ET_LOG").as_deref() {
        Ok("debug") => 0,
        Ok("info") => 1,
        Ok("error") => 2,
        _ => return false,
    };
    rank(level) >= least
}

fn current() -> Handler {
    *HANDLER.read().unwrap_or_else(PoisonError::into_inner)
}

abi! {
    log::fn et_log_set_handler(handler: et_log_handler_t, user_data: *mut c_void), otherwise (), {
        *HANDLER.write().unwrap_or_else(PoisonError::into_inner) = Handler { call: handler, user_data, chosen: true };
    }
    log::fn et_log(level: et_log_level_t, message: *const c_char), otherwise (), {
        let handler = current();
        if message.is_null() {
            return;
        }
        if let Some(call) = handler.call {
            // SAFETY: the handler obeys the ABI; the message is the caller's.
            unsafe { call(handler.user_data, level, message) };
        } else if !handler.chosen && environment_allows(level) {
            // SAFETY: the caller gives a NUL-terminated string.
            eprintln!("executorch: {}", unsafe { CStr::from_ptr(message) }.to_string_lossy());
        }
    }
    log::fn et_log_enabled(level: et_log_level_t) -> bool, otherwise false, {
        let handler = current();
        handler.call.is_some() || (!handler.chosen && environment_allows(level))
    }
}
