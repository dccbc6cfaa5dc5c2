// The C++ header, used as programs for upstream's use it.

#include <executorch/extension/cuda/caller_stream.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <thread>
#include <type_traits>

using executorch::extension::cuda::CallerStreamGuard;
using executorch::extension::cuda::getCallerStream;

static_assert(std::is_same_v<decltype(getCallerStream()), std::optional<cudaStream_t>>);
static_assert(!std::is_copy_constructible_v<CallerStreamGuard> && !std::is_move_constructible_v<CallerStreamGuard>);
static_assert(!std::is_copy_assignable_v<CallerStreamGuard> && !std::is_move_assignable_v<CallerStreamGuard>);
static_assert(!std::is_convertible_v<cudaStream_t, CallerStreamGuard>);

static int failures = 0;

static void check(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what);
    ++failures;
  }
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

int main() {
  const auto stream = [](std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); };
  CHECK(!getCallerStream().has_value());
  {
    CallerStreamGuard outer(stream(16));
    CHECK(getCallerStream() == stream(16));
    {
      CallerStreamGuard inner(nullptr);
      CHECK(getCallerStream().has_value());
      CHECK(*getCallerStream() == nullptr);
      std::thread([] { CHECK(!getCallerStream().has_value()); }).join();
    }
    CHECK(getCallerStream() == stream(16));
    try {
      CallerStreamGuard inner(stream(32));
      throw std::exception();
    } catch (const std::exception&) {
      CHECK(getCallerStream() == stream(16));
    }
  }
  CHECK(!getCallerStream().has_value());
  return failures == 0 ? 0 : 1;
}
