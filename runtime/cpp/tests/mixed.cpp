// A C++ library for a Python process that uses the runtime as well: mixed.py.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <vector>

// Runs a method of one tensor, all ones, and writes at most `capacity` elements of its result. Returns their number, or -1.
extern "C" __attribute__((visibility("default"))) int mixed_run(
    const char* path, const char* method, const int* sizes, int rank, float* result, int capacity) {
  executorch::extension::Module module(path);
  const auto input = executorch::extension::ones({sizes, sizes + rank});
  const auto outputs = module.execute(method, input);
  if (!outputs.ok()) {
    return -1;
  }
  const auto tensor = outputs->at(0).toTensor();
  const int count = std::min(static_cast<int>(tensor.numel()), capacity);
  std::copy_n(tensor.const_data_ptr<float>(), count, result);
  return count;
}
