// A C++ library in a Python process that uses the runtime as well: ../python/mixed.py.

#include <executorch/extension/module/module.h>
#include <executorch/extension/parallel/thread_parallel.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <algorithm>
#include <atomic>
#include <vector>

using namespace executorch::runtime;

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

// A backend that only has a name.
class GateBackend final : public BackendInterface {
 public:
  bool is_available() const override {
    return true;
  }

  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer*, ArrayRef<CompileSpec>) const override {
    return Error::NotSupported;
  }

  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*>) const override {
    return Error::NotSupported;
  }
};

} // namespace

EXPORTED size_t mixed_backends() {
  return get_num_registered_backends();
}

EXPORTED size_t mixed_operators() {
  return et_kernel_count();
}

EXPORTED int mixed_register() {
  static GateBackend backend;
  return static_cast<int>(register_backend({"GateBackend", &backend}));
}

EXPORTED size_t mixed_threads() {
  return static_cast<size_t>(executorch::extension::get_thread_count());
}

// Work for every thread of the pool.
EXPORTED void mixed_spread() {
  std::atomic<int64_t> sum{0};
  executorch::extension::parallel_for(0, 1 << 16, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sum += i & 1;
    }
  });
}

// Runs a method of one tensor and writes at most `capacity` elements of its result. Returns their number, or -1.
EXPORTED int mixed_run(
    const char* path, const char* method, const int* sizes, int rank, const float* values, float* result, int capacity) {
  executorch::extension::Module module(path);
  size_t count = 1;
  for (int i = 0; i < rank; ++i) {
    count *= static_cast<size_t>(sizes[i]);
  }
  const auto input = executorch::extension::make_tensor_ptr({sizes, sizes + rank}, std::vector<float>(values, values + count));
  const auto outputs = module.execute(method, input);
  if (!outputs.ok()) {
    return -1;
  }
  const auto tensor = outputs->at(0).toTensor();
  const int wrote = std::min(static_cast<int>(tensor.numel()), capacity);
  std::copy_n(tensor.const_data_ptr<float>(), wrote, result);
  return wrote;
}
