/// \file
/// How many threads are worth it.

#pragma once

#include <cstdint>

#include <executorch/c/threadpool.h>

namespace executorch {
namespace extension {
namespace cpuinfo {

/// The number of CPUs that computing threads should use: that of the thread pool, which knows affinity and cgroup limits.
inline uint32_t get_num_performant_cores() {
  return static_cast<uint32_t>(et_threadpool_get_thread_count());
}

} // namespace cpuinfo
} // namespace extension
} // namespace executorch
