/// \file
/// Keeping a thread's work on it. Link executorch::threadpool.

#pragma once

#include <executorch/c/threadpool.h>

namespace executorch {
namespace extension {
namespace threadpool {

/// While it lives, parallel calls of its thread run serially. Nests.
struct NoThreadPoolGuard {
  NoThreadPoolGuard() : before_(is_enabled()) {
    set_enabled(true);
  }

  NoThreadPoolGuard(const NoThreadPoolGuard&) = delete;
  NoThreadPoolGuard& operator=(const NoThreadPoolGuard&) = delete;

  ~NoThreadPoolGuard() {
    set_enabled(before_);
  }

  /// Whether parallel calls of this thread run serially.
  static bool is_enabled() {
    return enabled();
  }

  /// Lets parallel calls of this thread run serially, or in parallel again.
  static void set_enabled(bool value) {
    if (value == enabled()) {
      return;
    }
    enabled() = value;
    if (value) {
      et_threadpool_guard_enter();
    } else {
      et_threadpool_guard_leave();
    }
  }

 private:
  static bool& enabled() {
    thread_local bool value = false;
    return value;
  }

  const bool before_;
};

} // namespace threadpool
} // namespace extension
} // namespace executorch
