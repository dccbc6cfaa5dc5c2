// Uses what the CUDA components offer to C++, on a machine that need not have a GPU: cuda_consumer PROGRAM DATA.
#include <executorch/backends/cuda/runtime/cuda_mutable_state.h>
#include <executorch/extension/cuda/caller_stream.h>
#include <executorch/extension/module/module.h>
#include <executorch/c/backend.h>
#include <executorch/c/error.h>

#include <cstdio>

namespace cuda = executorch::extension::cuda;
using executorch::backends::cuda::MutableStateContextOwner;
using executorch::extension::Module;
using executorch::runtime::Error;

static int failed(const char* what) {
  std::printf("wrong: %s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    return failed("cuda_consumer PROGRAM DATA");
  }
  if (et_backend_find("CudaBackend") == nullptr) {
    return failed("CudaBackend is not registered");
  }
  if (cuda::getCallerStream().has_value()) {
    return failed("a stream is chosen from the start");
  }
  {
    cuda::CallerStreamGuard outer(nullptr);
    {
      cuda::CallerStreamGuard inner(reinterpret_cast<cudaStream_t>(16));
      if (cuda::getCallerStream() != reinterpret_cast<cudaStream_t>(16)) {
        return failed("the inner stream");
      }
    }
    if (!cuda::getCallerStream().has_value() || *cuda::getCallerStream() != nullptr) {
      return failed("the outer stream");
    }
  }
  MutableStateContextOwner owner;
  owner.register_fqns({"cache"});
  if (!owner || owner.available() || owner.validate_coverage() != Error::NotSupported || owner.create_session().ok()) {
    return failed("sessions without a program");
  }
  Module module(argv[1], argv[2]);
  const Error error = module.load_method("forward");
  std::printf("%d %s\n", static_cast<int>(error), error == Error::Ok ? "loaded" : et_last_error_message());
  return 0;
}
