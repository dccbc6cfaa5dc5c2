/// \file
/// Parallel loops on the process's thread pool. Link executorch::threadpool. The C side is executorch/c/threadpool.h.

#pragma once

#include <cstdint>

#include <executorch/c/threadpool.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

/// The number of simple operations below which a chunk is not worth a thread.
inline constexpr int64_t GRAIN_SIZE = 32768;

/// Runs `f` over all of `[begin, end)` on the calling thread. False if the arguments are not valid.
template <typename Func>
bool parallel_for_no_threadpool(const int64_t begin, const int64_t end, const int64_t grain_size, const Func& f) {
  if (begin < 0 || end < begin || grain_size <= 0) {
    ET_LOG(
        Error, "a loop from %" PRId64 " to %" PRId64 " with grain %" PRId64, begin, end, grain_size);
    return false;
  }
  f(begin, end);
  return true;
}

/// A number that `set_thread_num` gave this thread; -1 if it did not.
inline int64_t& own_thread_num() {
  thread_local int64_t number = -1;
  return number;
}

} // namespace internal

/// Runs `f(first, last)` over `[begin, end)` in chunks of at least `grain_size` and returns when all are done. Inside of
/// a parallel call it runs serially. `f` must not throw. False if the arguments are not valid.
inline bool parallel_for(
    const int64_t begin,
    const int64_t end,
    const int64_t grain_size,
    runtime::FunctionRef<void(int64_t, int64_t)> f) {
  const et_error_t error = et_parallel_for(
      begin, end, grain_size,
      [](void* context, int64_t first, int64_t last) noexcept {
        (*static_cast<runtime::FunctionRef<void(int64_t, int64_t)>*>(context))(first, last);
      },
      &f);
  return error == ET_OK;
}

/// The number of threads that take part in a parallel call, the caller included.
inline int64_t get_thread_count() {
  return static_cast<int64_t>(et_threadpool_get_thread_count());
}

/// The calling thread's number within the parallel call that it takes part in; 0 outside of one.
inline int64_t get_thread_num() {
  const int64_t own = internal::own_thread_num();
  return own >= 0 ? own : static_cast<int64_t>(et_threadpool_get_thread_num());
}

/// Gives the calling thread a number, for loops that use threads of their own; negative takes it back.
inline void set_thread_num(int64_t thread_num) {
  internal::own_thread_num() = thread_num;
}

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::extension::get_thread_num;
using ::executorch::extension::parallel_for;
using ::executorch::extension::set_thread_num;
} // namespace executor
} // namespace torch
