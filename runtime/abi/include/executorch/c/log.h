/**
 * Logging: nothing is printed unless a program asks for it.
 *
 * Generated from runtime/abi/src/log.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_LOG_H
#define EXECUTORCH_C_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A message's severity: one of the `ET_LOG_…` constants.
 */
typedef uint8_t et_log_level_t;

/**
 * Receives log messages. Called on the thread that logs; must be thread-safe and must not unwind.
 * `message` is valid during the call only.
 */
typedef void (*et_log_handler_t)(void *user_data, et_log_level_t level, const char *message);

/**
 * Detail for developers of the runtime.
 */
#define ET_LOG_DEBUG 68

/**
 * What happened.
 */
#define ET_LOG_INFO 73

/**
 * What failed, besides the error that the call returns.
 */
#define ET_LOG_ERROR 69

/**
 * What makes the process stop.
 */
#define ET_LOG_FATAL 70

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Sets the process's log handler; null turns logging off (the default, unless the environment variable
 * `ET_LOG` is `debug`, `info` or `error`: then messages go to standard error).
 *
 * A message that is being logged on another thread may still reach the old handler after the call.
 */
extern void et_log_set_handler(et_log_handler_t handler,
                               void *user_data);

/**
 * Logs a message. Cheap when no handler is set.
 */
extern void et_log(et_log_level_t level, const char *message);

/**
 * Whether a message of this level would reach a handler.
 */
extern bool et_log_enabled(et_log_level_t level);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_LOG_H */
