// Loads a CUDA program and runs it on ones: gpu_consumer PROGRAM DATA. Prints the median time of a call. What the program wants on
// the device is put there by the runtime's own allocator, so that nothing of CUDA is needed to build this.
#include <executorch/c/error.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace executorch::extension;
using executorch::runtime::Error;

static int failed(const std::string& path) {
  std::printf("%s: %s\n", path.c_str(), et_last_error_message());
  return 1;
}

// A tensor of ones where the program wants it.
static TensorPtr given(const executorch::runtime::TensorInfo& info) {
  const auto sizes = info.sizes();
  const TensorPtr host = ones({sizes.begin(), sizes.end()}, info.scalar_type());
  return info.device().is_cpu() ? host : clone_tensor_ptr_to(host, info.device());
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::printf("gpu_consumer PROGRAM DATA\n");
    return 2;
  }
  const std::string path = argv[1];
  Module module(path, argv[2]);
  if (module.load_method("forward") != Error::Ok) {
    return failed(path);
  }
  const auto meta = module.method_meta("forward");
  std::vector<TensorPtr> inputs, outputs;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    inputs.push_back(given(*meta->input_tensor_meta(i)));
  }
  for (size_t i = 0; i < meta->num_outputs(); ++i) {
    const auto info = meta->output_tensor_meta(i);
    if (info->is_memory_planned()) {
      continue;
    }
    outputs.push_back(given(*info));
    if (module.set_output(outputs.back(), i) != Error::Ok) {
      return failed(path);
    }
  }
  const std::vector<executorch::runtime::EValue> values(inputs.begin(), inputs.end());
  std::vector<double> times;
  for (int call = 0; call < 120; ++call) {
    const auto start = std::chrono::steady_clock::now();
    const auto results = module.forward(values);
    if (!results.ok()) {
      return failed(path);
    }
    if (!outputs.empty()) {
      // Work for the device's memory may go on: a copy waits for it.
      clone_tensor_ptr_to(outputs.front(), executorch::aten::Device(executorch::aten::DeviceType::CPU));
    }
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 60, times.end());
  std::printf("C++ %s: %.3f ms\n", path.substr(path.rfind('/') + 1).c_str(), times[60]);
  return 0;
}
