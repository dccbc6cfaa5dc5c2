// A C++ program of a user of the wheel.
//
//     consumer run PROGRAM METHOD INPUTS    runs a method and prints its outputs
//     consumer registry                     prints how many backends and operators there are
//     consumer maps                         prints the runtime's libraries in this process
//
// INPUTS is text: for each float32 tensor its rank, its sizes and its values.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using executorch::extension::Module;
using executorch::runtime::EValue;

namespace {

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, executorch::runtime::last_error_message());
  return 1;
}

int run(const char* program, const char* method, const char* inputs) {
  std::ifstream file(inputs);
  std::vector<executorch::extension::TensorPtr> tensors;
  for (size_t rank = 0; file >> rank;) {
    std::vector<executorch::aten::SizesType> sizes(rank);
    size_t count = 1;
    for (auto& size : sizes) {
      file >> size;
      count *= static_cast<size_t>(size);
    }
    std::vector<float> values(count);
    for (float& value : values) {
      file >> value;
    }
    tensors.push_back(executorch::extension::make_tensor_ptr(std::move(sizes), std::move(values)));
  }
  Module module(program);
  if (module.load_method(method) != executorch::runtime::Error::Ok) {
    return failed("load");
  }
  const std::vector<EValue> values(tensors.begin(), tensors.end());
  const auto outputs = module.execute(method, values);
  if (!outputs.ok()) {
    return failed("execute");
  }
  for (const EValue& output : *outputs) {
    const auto tensor = output.toTensor();
    for (ssize_t i = 0; i < tensor.numel(); ++i) {
      std::printf("%.9g\n", static_cast<double>(tensor.const_data_ptr<float>()[i]));
    }
  }
  return 0;
}

int registry() {
  std::printf(
      "%zu %zu\n",
      executorch::runtime::get_num_registered_backends(),
      et_kernel_count());
  return 0;
}

int maps() {
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    if (line.find("libexecutorch") != std::string::npos) {
      std::printf("%s\n", line.substr(line.find('/')).c_str());
    }
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string task = argc > 1 ? argv[1] : "";
  if (task == "run" && argc == 5) {
    return run(argv[2], argv[3], argv[4]);
  }
  if (task == "registry") {
    return registry();
  }
  return task == "maps" ? maps() : 2;
}
