/// \file
/// The process's one thread pool. Link executorch::threadpool. The C side is executorch/c/threadpool.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <executorch/c/threadpool.h>
#include <executorch/extension/threadpool/threadpool_guard.h>

namespace executorch {
namespace extension {
namespace threadpool {

/// The pool that kernels and delegates run on. No thread is started before the first parallel call that needs one. May
/// be used from any thread.
class ThreadPool final {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of threads that take part in a parallel call, the caller included.
  size_t get_thread_count() const {
    return et_threadpool_get_thread_count();
  }

  /// Sets the number of threads, at any time; 0 restores the default. False if they could not be had. Nothing about it
  /// is unsafe here; the name is the one that programs know.
  bool _unsafe_reset_threadpool(uint32_t num_threads) {
    return et_threadpool_set_thread_count(num_threads) == ET_OK;
  }

  /// Runs `fn(i)` for each i below `range`, in any order, and returns when all are done. `fn` must not throw.
  void run(const std::function<void(size_t)>& fn, size_t range) {
    et_parallel_tasks(
        range,
        [](void* context, size_t index) noexcept { (*static_cast<const std::function<void(size_t)>*>(context))(index); },
        const_cast<std::function<void(size_t)>*>(&fn));
  }
};

/// The pool. Never null.
inline ThreadPool* get_threadpool() {
  static ThreadPool pool;
  return &pool;
}

} // namespace threadpool
} // namespace extension
} // namespace executorch
