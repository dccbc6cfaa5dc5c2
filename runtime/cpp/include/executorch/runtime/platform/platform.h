/// \file
/// The platform layer: what a program may replace to route log messages, time, memory and aborts its own way.
///
/// There are two ways. A program may define any of the `et_pal_*` functions below (they are weak), or it may call
/// `register_pal` early with the functions it wants to replace. Without either, the defaults apply: the monotonic
/// clock, `malloc`, `std::abort`, and log messages go where the runtime's log handler sends them (nowhere, unless
/// the environment variable `ET_LOG` is set).

#pragma once

#include <time.h>

#include <cstdlib>

#include <executorch/c/log.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/types.h>

/// The ratio that turns ticks into nanoseconds: `ticks * numerator / denominator`.
typedef struct et_tick_ratio {
  uint64_t numerator;
  uint64_t denominator;
} et_tick_ratio_t;

/// The severity of a log message, as the letter that stands for it.
typedef enum et_pal_log_level {
  kDebug = 'D',
  kInfo = 'I',
  kError = 'E',
  kFatal = 'F',
  kUnknown = '?',
} et_pal_log_level_t;

extern "C" {

/// Called once by `runtime_init`.
ET_WEAK void et_pal_init(void);
/// Ends the process after a failed check. Must not return.
ET_WEAK void et_pal_abort(void);
/// The current time in ticks, monotonic.
ET_WEAK et_timestamp_t et_pal_current_ticks(void);
/// What turns ticks into nanoseconds.
ET_WEAK et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void);
/// Receives a log message of `length` bytes. Called on the thread that logs; must be thread-safe.
ET_WEAK void et_pal_emit_log_message(
    et_timestamp_t timestamp,
    et_pal_log_level_t level,
    const char* filename,
    const char* function,
    size_t line,
    const char* message,
    size_t length);
/// Allocates memory for `et_pal_free`, aligned for any type; null if there is none.
ET_WEAK void* et_pal_allocate(size_t size);
/// Frees memory of `et_pal_allocate`.
ET_WEAK void et_pal_free(void* ptr);

} // extern "C"

namespace executorch {
namespace runtime {

using pal_init_method = void (*)();
using pal_abort_method = void (*)();
using pal_current_ticks_method = et_timestamp_t (*)();
using pal_ticks_to_ns_multiplier_method = et_tick_ratio_t (*)();
using pal_emit_log_message_method = void (*)(
    et_timestamp_t timestamp,
    et_pal_log_level_t level,
    const char* filename,
    const char* function,
    size_t line,
    const char* message,
    size_t length);
using pal_allocate_method = void* (*)(size_t size);
using pal_free_method = void (*)(void* ptr);

/// The platform functions to replace; null keeps the present one.
struct PalImpl {
  /// Replaces the log sink only.
  static PalImpl create(pal_emit_log_message_method emit_log_message, const char* source_filename) {
    return create(nullptr, nullptr, nullptr, nullptr, emit_log_message, nullptr, nullptr, source_filename);
  }

  /// Replaces all functions that are not null. `source_filename` says who did, for messages; it must be static.
  static PalImpl create(
      pal_init_method init,
      pal_abort_method abort,
      pal_current_ticks_method current_ticks,
      pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
      pal_emit_log_message_method emit_log_message,
      pal_allocate_method allocate,
      pal_free_method free,
      const char* source_filename) {
    return {init, abort, current_ticks, ticks_to_ns_multiplier, emit_log_message, allocate, free, source_filename};
  }

  pal_init_method init;
  pal_abort_method abort;
  pal_current_ticks_method current_ticks;
  pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier;
  pal_emit_log_message_method emit_log_message;
  pal_allocate_method allocate;
  pal_free_method free;
  const char* source_filename;
};

namespace internal {

inline et_timestamp_t default_ticks() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<et_timestamp_t>(now.tv_sec) * 1000000000 + static_cast<et_timestamp_t>(now.tv_nsec);
}

inline et_tick_ratio_t default_tick_ratio() {
  return {1, 1};
}

/// Passes a message of the runtime on to the program's sink, which `user_data` does not name: it may change.
inline void forward_log(void* user_data, et_log_level_t level, const char* message);

/// Sends the runtime's own messages to the program's sink too.
inline void hook_log(const PalImpl& impl) {
  if (impl.emit_log_message != nullptr) {
    et_log_set_handler(&forward_log, nullptr);
  }
}

inline PalImpl initial_pal() {
  const PalImpl impl = PalImpl::create(
      &et_pal_init,
      &et_pal_abort,
      &et_pal_current_ticks != nullptr ? &et_pal_current_ticks : &default_ticks,
      &et_pal_ticks_to_ns_multiplier != nullptr ? &et_pal_ticks_to_ns_multiplier : &default_tick_ratio,
      &et_pal_emit_log_message,
      &et_pal_allocate != nullptr ? &et_pal_allocate : &std::malloc,
      &et_pal_free != nullptr ? &et_pal_free : &std::free,
      __FILE__);
  hook_log(impl);
  return impl;
}

/// The functions in use. Initialised before `main`, so that a program's own sink gets every message.
inline PalImpl current_pal = initial_pal();

inline void forward_log(void* /*user_data*/, et_log_level_t level, const char* message) {
  if (current_pal.emit_log_message != nullptr) {
    current_pal.emit_log_message(
        current_pal.current_ticks(), static_cast<et_pal_log_level_t>(level), "", "", 0, message,
        __builtin_strlen(message));
  }
}

} // namespace internal

/// Replaces platform functions. Call it early in `main`, before other threads use the runtime. Returns true.
inline bool register_pal(PalImpl impl) {
  PalImpl& now = internal::current_pal;
  now.init = impl.init != nullptr ? impl.init : now.init;
  now.abort = impl.abort != nullptr ? impl.abort : now.abort;
  now.current_ticks = impl.current_ticks != nullptr ? impl.current_ticks : now.current_ticks;
  now.ticks_to_ns_multiplier =
      impl.ticks_to_ns_multiplier != nullptr ? impl.ticks_to_ns_multiplier : now.ticks_to_ns_multiplier;
  now.emit_log_message = impl.emit_log_message != nullptr ? impl.emit_log_message : now.emit_log_message;
  now.allocate = impl.allocate != nullptr ? impl.allocate : now.allocate;
  now.free = impl.free != nullptr ? impl.free : now.free;
  now.source_filename = impl.source_filename;
  internal::hook_log(impl);
  return true;
}

/// The functions in use.
inline const PalImpl* get_pal_impl() {
  return &internal::current_pal;
}

/// Runs the program's `init`, if it has one.
inline void pal_init() {
  if (internal::current_pal.init != nullptr) {
    internal::current_pal.init();
  }
}

/// Ends the process.
ET_NORETURN inline void pal_abort() {
  if (internal::current_pal.abort != nullptr) {
    internal::current_pal.abort();
  }
  std::abort();
}

/// The current time in ticks.
inline et_timestamp_t pal_current_ticks() {
  return internal::current_pal.current_ticks();
}

/// What turns ticks into nanoseconds.
inline et_tick_ratio_t pal_ticks_to_ns_multiplier() {
  return internal::current_pal.ticks_to_ns_multiplier();
}

/// Sends a message to the program's sink; without one, to the runtime's log handler.
inline void pal_emit_log_message(
    et_timestamp_t timestamp,
    et_pal_log_level_t level,
    const char* filename,
    const char* function,
    size_t line,
    const char* message,
    size_t length) {
  if (internal::current_pal.emit_log_message != nullptr) {
    internal::current_pal.emit_log_message(timestamp, level, filename, function, line, message, length);
  } else {
    et_log(static_cast<et_log_level_t>(level), message);
  }
}

/// Allocates memory for `pal_free`; null if there is none.
inline void* pal_allocate(size_t size) {
  return internal::current_pal.allocate(size);
}

/// Frees memory of `pal_allocate`. Null is ignored.
inline void pal_free(void* ptr) {
  internal::current_pal.free(ptr);
}

} // namespace runtime
} // namespace executorch
