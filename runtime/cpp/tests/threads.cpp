// The thread pool through the C++ headers.

#include "check.h"

#include <executorch/extension/parallel/thread_parallel.h>
#include <executorch/extension/threadpool/cpuinfo_utils.h>
#include <executorch/extension/threadpool/threadpool.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using executorch::extension::get_thread_count;
using executorch::extension::get_thread_num;
using executorch::extension::parallel_for;
using executorch::extension::set_thread_num;
using executorch::extension::threadpool::get_threadpool;
using executorch::extension::threadpool::NoThreadPoolGuard;

namespace {

// How often each element of [0, n) is visited.
std::vector<int> visits(int64_t n, int64_t grain) {
  std::vector<int> seen(static_cast<size_t>(n));
  CHECK(parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++seen[static_cast<size_t>(i)];
    }
  }));
  return seen;
}

bool all_once(const std::vector<int>& seen) {
  return std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; });
}

} // namespace

int main() {
  CHECK(get_threadpool()->get_thread_count() >= 1);
  CHECK(executorch::extension::cpuinfo::get_num_performant_cores() >= 1);
  for (const uint32_t count : {1u, 3u, 8u}) {
    CHECK(get_threadpool()->_unsafe_reset_threadpool(count));
    CHECK(get_thread_count() == count);
    for (const int64_t n : {0, 1, 7, 1000, 100000}) {
      CHECK(all_once(visits(n, 16)));
    }
    std::atomic<size_t> sum{0};
    get_threadpool()->run([&](size_t i) { sum += i; }, 1001);
    CHECK(sum == 1001 * 500);
  }

  // Every chunk has at least the grain's size, but for the rest.
  std::atomic<int> small{0};
  CHECK(parallel_for(0, 1000, 100, [&](int64_t begin, int64_t end) { small += end - begin < 100; }));
  CHECK(small <= 1);
  CHECK(!parallel_for(0, 10, 0, [](int64_t, int64_t) {}));
  CHECK(!parallel_for(10, 0, 1, [](int64_t, int64_t) {}));

  // A guarded thread works alone; the guard nests.
  {
    NoThreadPoolGuard guard;
    const auto self = std::this_thread::get_id();
    std::atomic<int> others{0};
    {
      NoThreadPoolGuard inner;
      CHECK(NoThreadPoolGuard::is_enabled());
    }
    CHECK(NoThreadPoolGuard::is_enabled());
    CHECK(parallel_for(0, 1000, 1, [&](int64_t, int64_t) { others += std::this_thread::get_id() != self; }));
    CHECK(others == 0);
  }
  CHECK(!NoThreadPoolGuard::is_enabled());

  // A call inside of a call.
  std::atomic<int> total{0};
  CHECK(parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
    CHECK(get_thread_num() >= 0 && get_thread_num() < get_thread_count());
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(0, 10, 1, [&](int64_t first, int64_t last) { total += static_cast<int>(last - first); });
    }
  }));
  CHECK(total == 80);

  CHECK(get_thread_num() == 0);
  set_thread_num(5);
  CHECK(get_thread_num() == 5);
  set_thread_num(-1);
  CHECK(get_thread_num() == 0);
  CHECK(get_threadpool()->_unsafe_reset_threadpool(0));
  return finish();
}
