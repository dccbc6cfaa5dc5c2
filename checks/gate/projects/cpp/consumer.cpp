// A C++ program of a user of the wheel.
//
//     consumer run PROGRAM METHOD INPUTS    runs a method and prints its outputs
//     consumer registry                     prints how many backends and operators there are
//     consumer maps                         prints the runtime's libraries in this process

#include "inputs.h"

#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using executorch::extension::Module;
using executorch::runtime::EValue;

namespace {

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, executorch::runtime::last_error_message());
  return 1;
}

int run(const char* program, const char* method, const char* inputs) {
  const auto tensors = read_inputs(inputs);
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
    print_values(output.toTensor());
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
