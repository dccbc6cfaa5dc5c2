/// \file
/// Checks of a program's own assumptions. One that fails says what and where on standard error and ends the process
/// through the platform layer. For conditions that input can cause, return an `Error` instead (error.h).

#pragma once

#include <executorch/c/error.h>
#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Says what failed, where, and what the runtime last complained about, then ends the process.
ET_NORETURN ET_PRINTFLIKE(5, 6) ET_NOINLINE inline void fail_check(
    const char* filename,
    const char* function,
    size_t line,
    const char* condition,
    const char* format,
    ...) {
  char message[kMaxLogMessageLength];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  const char* cause = et_last_error_message();
  const bool has_cause = cause[0] != '\0';
  if (get_pal_impl()->emit_log_message != nullptr) {
    logf(
        LogLevel::Fatal, get_log_timestamp(), filename, function, line, "check failed (%s): %s%s%s", condition,
        message, has_cause ? "; last error: " : "", cause);
  } else {
    std::fprintf(
        stderr, "[%s:%zu] %s: check failed (%s): %s%s%s\n", filename, line, function, condition, message,
        has_cause ? "; last error: " : "", cause);
  }
  runtime_abort();
}

} // namespace internal
} // namespace runtime
} // namespace executorch

/// `ET_CHECK_MSG(condition, format, …)`: ends the process with a message if the condition does not hold.
#define ET_CHECK_MSG(cond__, ...)                                                                                \
  do {                                                                                                           \
    if (ET_UNLIKELY(!(cond__))) {                                                                                \
      ::executorch::runtime::internal::fail_check(                                                               \
          ET_SHORT_FILENAME, ET_FUNCTION, ET_LINE, #cond__, __VA_ARGS__);                                        \
    }                                                                                                            \
  } while (0)

/// `ET_CHECK(condition)`: ends the process if the condition does not hold.
#define ET_CHECK(cond__) ET_CHECK_MSG(cond__, "%s", "the program relies on it")

/// Checks of debug builds only.
#ifdef NDEBUG
#define ET_DCHECK_MSG(cond__, ...) ((void)0)
#define ET_DCHECK(cond__) ((void)0)
#define ET_DEBUG_ONLY while (false)
#else
#define ET_DCHECK_MSG(cond__, ...) ET_CHECK_MSG(cond__, __VA_ARGS__)
#define ET_DCHECK(cond__) ET_CHECK(cond__)
#define ET_DEBUG_ONLY
#endif

/// Ends the process: control must not get here.
#define ET_ASSERT_UNREACHABLE() ET_CHECK_MSG(false, "%s", "unreachable")
/// Ends the process with a message: control must not get here.
#define ET_ASSERT_UNREACHABLE_MSG(...) ET_CHECK_MSG(false, __VA_ARGS__)
