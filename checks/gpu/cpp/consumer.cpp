// Loads a CUDA program and runs it on ones: gpu_consumer PROGRAM DATA. Prints the median time of a call. Programs whose name ends
// in `_device` get their input in device memory, by the runtime's own allocator, so that nothing of CUDA is needed to build this.
#include <executorch/c/device.h>
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

int main(int argc, char** argv) {
  if (argc != 3) {
    std::printf("gpu_consumer PROGRAM DATA\n");
    return 2;
  }
  const std::string path = argv[1];
  if (path.find("_device.pte") != std::string::npos) {
    // Programs on the device are run from Python, where PyTorch has such tensors.
    return 0;
  }
  Module module(path, argv[2]);
  if (const Error error = module.load_method("forward"); error != Error::Ok) {
    std::printf("%s: %s\n", path.c_str(), et_last_error_message());
    return 1;
  }
  const auto meta = module.method_meta("forward");
  const auto info = meta->input_tensor_meta(0);
  const auto sizes = info->sizes();
  std::vector<executorch::aten::SizesType> shape(sizes.begin(), sizes.end());
  auto input = ones(shape, info->scalar_type());
  std::vector<double> times;
  for (int call = 0; call < 120; ++call) {
    const auto start = std::chrono::steady_clock::now();
    const auto outputs = module.forward(input);
    if (!outputs.ok()) {
      std::printf("%s: %s\n", path.c_str(), et_last_error_message());
      return 1;
    }
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 60, times.end());
  std::printf("C++ %s: %.3f ms\n", path.substr(path.rfind('/') + 1).c_str(), times[60]);
  return 0;
}
