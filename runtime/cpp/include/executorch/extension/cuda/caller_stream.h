/// \file
/// Choosing the CUDA stream that delegates run on. Link executorch::extension_cuda.

#pragma once

#include <executorch/c/caller_stream.h>
#include <executorch/extension/cuda/export.h>

#include <optional>

#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#else
// As CUDA declares it, for programs that only hand a stream on.
typedef struct CUstream_st* cudaStream_t;
#endif

namespace executorch {
namespace extension {
namespace cuda {

/// The stream of this thread's innermost CallerStreamGuard; none without a guard. A null stream is CUDA's default stream.
inline std::optional<cudaStream_t> getCallerStream() {
  void* stream = nullptr;
  if (et_caller_stream_get(&stream)) {
    return static_cast<cudaStream_t>(stream);
  }
  return std::nullopt;
}

/// While it lives, delegates that this thread calls run on a stream of the caller's; the stream must live as long. Nests:
/// its end restores what was chosen before. Ends on the thread that it began on.
class EXECUTORCH_EXTENSION_CUDA_API CallerStreamGuard {
 public:
  explicit CallerStreamGuard(cudaStream_t stream) : previous_(getCallerStream()) {
    et_caller_stream_set(stream);
  }

  ~CallerStreamGuard() {
    if (previous_.has_value()) {
      et_caller_stream_set(*previous_);
    } else {
      et_caller_stream_clear();
    }
  }

  CallerStreamGuard(const CallerStreamGuard&) = delete;
  CallerStreamGuard& operator=(const CallerStreamGuard&) = delete;
  CallerStreamGuard(CallerStreamGuard&&) = delete;
  CallerStreamGuard& operator=(CallerStreamGuard&&) = delete;

 private:
  std::optional<cudaStream_t> previous_;
};

} // namespace cuda
} // namespace extension
} // namespace executorch
