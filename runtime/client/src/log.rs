//! The process's log.

use crate::text;
use executorch_abi::log::*;
use std::ffi::{c_char, c_void};
use std::panic::catch_unwind;
use std::ptr::null_mut;

/// How severe a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Detail for developers of the runtime.
    Debug,
    /// What happened.
    Info,
    /// What failed.
    Error,
    /// What makes the process stop.
    Fatal,
}

/// Receives messages, on the thread that logs.
pub type Handler = fn(level: Level, message: &str);

/// Sets the process's log handler; none turns logging off. A message that another thread is logging may still reach
/// the handler before.
pub fn set_handler(handler: Option<Handler>) {
    let data = handler.map_or(null_mut(), |handler| handler as *mut c_void);
    let call: et_log_handler_t = if handler.is_some() { Some(forward) } else { None };
    // SAFETY: `forward` expects such data, which is the address of a function and so never dangles.
    unsafe { et_log_set_handler(call, data) };
}

unsafe extern "C" fn forward(user_data: *mut c_void, level: et_log_level_t, message: *const c_char) {
    let level = match level {
        ET_LOG_DEBUG => Level::Debug,
        ET_LOG_INFO => Level::Info,
        ET_LOG_FATAL => Level::Fatal,
        _ => Level::Error,
    };
    // SAFETY: `set_handler` passes a `Handler` along, and the message is NUL-terminated and valid during the call.
    let (handler, message) =
        unsafe { (std::mem::transmute::<*mut c_void, Handler>(user_data), text::from_c(message)) };
    // A panic must not cross the ABI, and there is nobody to tell.
    let _ignored = catch_unwind(|| handler(level, message.as_deref().unwrap_or_default()));
}
