/// \file
/// Log messages with printf formats: `ET_LOG(Info, "loaded %zu methods", count);`

#pragma once

#include <cstdarg>
#include <cstdio>

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {

/// How severe a message is.
enum class LogLevel : uint8_t {
  /// Detail for developers.
  Debug,
  /// What happened.
  Info,
  /// What failed.
  Error,
  /// What ends the process.
  Fatal,
  /// The number of levels; not one itself.
  NumLevels,
};

namespace internal {

/// The longest message, its NUL included; the rest is cut off.
inline constexpr size_t kMaxLogMessageLength = 1024;

/// The time to log a message with.
inline et_timestamp_t get_log_timestamp() {
  return pal_current_ticks();
}

inline et_pal_log_level_t pal_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return et_pal_log_level_t::kDebug;
    case LogLevel::Info:
      return et_pal_log_level_t::kInfo;
    case LogLevel::Error:
      return et_pal_log_level_t::kError;
    case LogLevel::Fatal:
      return et_pal_log_level_t::kFatal;
    case LogLevel::NumLevels:
      break;
  }
  return et_pal_log_level_t::kUnknown;
}

/// Formats a message and logs it, if anybody listens.
inline void vlogf(
    LogLevel level,
    et_timestamp_t timestamp,
    const char* filename,
    const char* function,
    size_t line,
    const char* format,
    va_list args) {
  const bool own_sink = get_pal_impl()->emit_log_message != nullptr;
  if (!own_sink && !et_log_enabled(static_cast<et_log_level_t>(pal_level(level)))) {
    return;
  }
  char message[kMaxLogMessageLength];
  int length = 0;
  if (!own_sink) {
    length = std::snprintf(message, sizeof message, "[%s:%zu] ", filename, line);
  }
  if (length < 0 || static_cast<size_t>(length) >= sizeof message) {
    length = 0;
  }
  const int more = std::vsnprintf(message + length, sizeof message - static_cast<size_t>(length), format, args);
  if (more < 0) {
    return;
  }
  const size_t whole = static_cast<size_t>(length) + static_cast<size_t>(more);
  pal_emit_log_message(
      timestamp, pal_level(level), filename, function, line, message,
      whole < sizeof message ? whole : sizeof message - 1);
}

/// Formats a message and logs it, if anybody listens.
ET_PRINTFLIKE(6, 7)
inline void logf(
    LogLevel level,
    et_timestamp_t timestamp,
    const char* filename,
    const char* function,
    size_t line,
    const char* format,
    ...) {
  va_list args;
  va_start(args, format);
  vlogf(level, timestamp, filename, function, line, format, args);
  va_end(args);
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::LogLevel;
} // namespace executor
} // namespace torch

/// 0 compiles log messages out.
#ifndef ET_LOG_ENABLED
#define ET_LOG_ENABLED 1
#endif

/// The least severe level that is compiled in.
#ifndef ET_MIN_LOG_LEVEL
#define ET_MIN_LOG_LEVEL Debug
#endif

#if ET_LOG_ENABLED
/// `ET_LOG(level, format, …)`: logs a message; `level` is `Debug`, `Info`, `Error` or `Fatal`.
#define ET_LOG(level__, ...)                                                                                     \
  do {                                                                                                           \
    if constexpr (                                                                                               \
        ::executorch::runtime::LogLevel::level__ >= ::executorch::runtime::LogLevel::ET_MIN_LOG_LEVEL) {         \
      ::executorch::runtime::internal::logf(                                                                     \
          ::executorch::runtime::LogLevel::level__, ::executorch::runtime::internal::get_log_timestamp(),        \
          ET_SHORT_FILENAME, ET_FUNCTION, ET_LINE, __VA_ARGS__);                                                 \
    }                                                                                                            \
  } while (0)
#else
#define ET_LOG(level__, ...) ((void)0)
#endif

/// `ET_CHECK_OR_LOG_ERROR(call)`: logs the error that the call returns, if it fails, and goes on.
#define ET_CHECK_OR_LOG_ERROR(error__)                                                                    \
  do {                                                                                                    \
    const auto et_error__ = (error__);                                                                    \
    if (ET_UNLIKELY(et_error__ != ::executorch::runtime::Error::Ok)) {                                    \
      ET_LOG(Error, "%s failed with error 0x%x", #error__, static_cast<unsigned>(et_error__));            \
    }                                                                                                     \
  } while (0)
