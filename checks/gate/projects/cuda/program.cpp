// Runs the program cuda_gate from C++: cuda_program PROGRAM DATA METHOD INPUTS fakes|gpu. INPUTS is as in ../cpp/inputs.h. A method
// that takes device memory gets it. With `fakes` the stand-in for a driver must be there, and is asked what is left at the end.
#include "../cpp/inputs.h"

#include <executorch/extension/cuda/caller_stream.h>
#include <executorch/extension/module/module.h>

#include <dlfcn.h>

#include <cstring>
#include <string>

using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::extension::clone_tensor_ptr_to;
using executorch::runtime::EValue;
namespace aten = executorch::aten;

namespace {

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, executorch::runtime::last_error_message());
  return 1;
}

int run(const char* program, const char* data, const std::string& method, const char* inputs) {
  Module module(program, data);
  if (module.load_method(method) != executorch::runtime::Error::Ok) {
    return failed("load");
  }
  const auto meta = module.method_meta(method);
  if (!meta.ok()) {
    return failed("method_meta");
  }
  std::vector<TensorPtr> tensors = read_inputs(inputs);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto input = meta->input_tensor_meta(i);
    if (!input.ok()) {
      return failed("input_tensor_meta");
    }
    if (!input->device().is_cpu()) {
      tensors[i] = clone_tensor_ptr_to(tensors[i], input->device());
    }
  }
  const std::vector<EValue> values(tensors.begin(), tensors.end());
  // The same on each call.
  for (int call = 0; call < 5; ++call) {
    if (!module.execute(method, values).ok()) {
      return failed("execute");
    }
  }
  const auto outputs = module.execute(method, values);
  if (!outputs.ok()) {
    return failed("execute");
  }
  for (const EValue& output : *outputs) {
    const TensorPtr tensor = executorch::extension::make_tensor_ptr(output.toTensor());
    print_values(tensor->device().is_cpu() ? *tensor : *clone_tensor_ptr_to(tensor, aten::Device(aten::DeviceType::CPU)));
  }
  return 0;
}

// What the stand-in for a driver holds, and what it was asked to do that a GPU would not survive.
int left(bool wanted) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  using Live = uint64_t (*)(const char*);
  const auto live = driver == nullptr ? nullptr : reinterpret_cast<Live>(dlsym(driver, "fake_live"));
  if ((live != nullptr) != wanted) {
    std::fprintf(stderr, "the driver is %s\n", live != nullptr ? "a stand-in" : "no stand-in");
    return 1;
  }
  for (const char* kind : {"blocks", "streams", "events", "graphs", "executables", "pending", "faults"}) {
    const uint64_t count = live == nullptr ? 0 : live(kind);
    if (count != 0) {
      std::fprintf(stderr, "%llu %s are left\n", static_cast<unsigned long long>(count), kind);
      return 1;
    }
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "cuda_program PROGRAM DATA METHOD INPUTS fakes|gpu\n");
    return 2;
  }
  const int status = run(argv[1], argv[2], argv[3], argv[4]);
  return status != 0 ? status : left(std::strcmp(argv[5], "fakes") == 0);
}
