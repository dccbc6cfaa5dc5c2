//! Logging: nothing is printed unless a program asks for it.

use std::ffi::{c_char, c_void};

/// A message's severity: one of the `ET_LOG_…` constants.
pub type et_log_level_t = u8;
/// Detail for developers of the runtime.
pub const ET_LOG_DEBUG: et_log_level_t = b'D';
/// What happened.
pub const ET_LOG_INFO: et_log_level_t = b'I';
/// What failed, besides the error that the call returns.
pub const ET_LOG_ERROR: et_log_level_t = b'E';
/// What makes the process stop.
pub const ET_LOG_FATAL: et_log_level_t = b'F';

/// Receives log messages. Called on the thread that logs; must be thread-safe and must not unwind.
/// `message` is valid during the call only.
pub type et_log_handler_t =
    Option<unsafe extern "C" fn(user_data: *mut c_void, level: et_log_level_t, message: *const c_char)>;

unsafe extern "C" {
    /// Sets the process's log handler; null turns logging off (the default, unless the environment variable
    /// `ET_LOG` is `debug`, `info` or `error`: then messages go to standard error).
    ///
    /// A message that is being logged on another thread may still reach the old handler after the call.
    pub fn et_log_set_handler(handler: et_log_handler_t, user_data: *mut c_void);

    /// Logs a message. Cheap when no handler is set.
    pub fn et_log(level: et_log_level_t, message: *const c_char);

    /// Whether a message of this level would reach a handler.
    pub fn et_log_enabled(level: et_log_level_t) -> bool;
}
