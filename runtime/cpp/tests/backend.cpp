// A delegate written in C++, which runs a part of an exported program: out = ((a + b) * scale + bias) * gain.
//
//     backend DELEGATES

#include "check.h"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>

#include <cstring>
#include <string>
#include <vector>

using namespace executorch::runtime;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;

namespace {

int handles = 0;

class DemoBackend final : public BackendInterface {
 public:
  struct State {
    std::vector<float> scale;
    float bias = 0;
    int gain = 1;
  };

  bool is_available() const override {
    return true;
  }

  Result<DelegateHandle*> init(
      BackendInitContext& context,
      FreeableBuffer* processed,
      ArrayRef<CompileSpec> compile_specs) const override {
    ET_CHECK_OR_RETURN_ERROR(
        processed->size() >= 8 && std::memcmp(processed->data(), "DEMO", 4) == 0, DelegateInvalidCompatibility, "%s",
        "the payload does not start with DEMO");
    State* state = context.get_runtime_allocator()->allocateInstance<State>();
    ET_CHECK_OR_RETURN_ERROR(state != nullptr, DelegateMemoryAllocationFailed, "%s", "no memory for the state");
    new (state) State;
    ++handles;
    for (const CompileSpec& spec : compile_specs) {
      if (std::string(spec.key) == "bias" && spec.value.nbytes == sizeof(float)) {
        std::memcpy(&state->bias, spec.value.buffer, sizeof(float));
      }
    }
    const auto gain = context.get_runtime_spec<int>("gain");
    state->gain = gain.ok() ? *gain : 1;
    CHECK(std::string(context.get_method_name()) == "forward");
    const std::string key(static_cast<const char*>(processed->data()) + 8, processed->size() - 8);
    if (!key.empty() && key[0] != '\0') {
      const auto data = context.get_named_data_map()->get_data(key.c_str());
      if (!data.ok()) {
        destroy(state);
        return data.error();
      }
      const float* scale = static_cast<const float*>(data->data());
      state->scale.assign(scale, scale + data->size() / sizeof(float));
    }
    processed->Free();
    return static_cast<DelegateHandle*>(state);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    const State& state = *static_cast<State*>(handle);
    ET_CHECK_OR_RETURN_ERROR(state.gain != 13, InvalidState, "%s", "thirteen is unlucky");
    ET_CHECK_OR_RETURN_ERROR(args.size() == 3, InvalidArgument, "%zu arguments", args.size());
    const auto& a = args[0]->toTensor();
    const auto& b = args[1]->toTensor();
    const auto n = static_cast<size_t>(a.numel());
    auto* sum = static_cast<float*>(context.allocate(n * sizeof(float), 64));
    ET_CHECK_OR_RETURN_ERROR(sum != nullptr, DelegateMemoryAllocationFailed, "%s", "no memory for the sum");
    float* out = args[2]->toTensor().mutable_data_ptr<float>();
    for (size_t i = 0; i < n; ++i) {
      sum[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
      const float scale = state.scale.empty() ? 1.0f : state.scale[i % state.scale.size()];
      out[i] = (sum[i] * scale + state.bias) * static_cast<float>(state.gain);
    }
    return Error::Ok;
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    for (const BackendOption& option : options) {
      if (const int* number = std::get_if<int>(&option.value)) {
        number_ = *number;
      }
    }
    return Error::Ok;
  }

  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    for (BackendOption& option : options) {
      option.value = number_;
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle* handle) const override {
    --handles;
    static_cast<State*>(handle)->~State();
  }

 private:
  int number_ = 0;
};

std::vector<float> run(Module& module) {
  auto a = make_tensor_ptr({2, 4}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  auto b = make_tensor_ptr({2, 4}, std::vector<float>(8, 0.5f));
  const auto outputs = module.forward({a, b});
  if (!CHECK(outputs.ok())) {
    std::printf("  %s\n", last_error_message());
    return {};
  }
  const auto& out = outputs->at(0).toTensor();
  return {out.const_data_ptr<float>(), out.const_data_ptr<float>() + out.numel()};
}

} // namespace

int main(int, char** argv) {
  const std::string program = std::string(argv[1]) + "/delegate.pte";
  Module early(program);
  CHECK(early.load_forward() == Error::NotFound);
  CHECK_CONTAINS(last_error_message(), "DemoBackend");

  static DemoBackend backend;
  static DemoBackend another;
  const size_t before = get_num_registered_backends();
  CHECK(register_backend({"DemoBackend", &backend}) == Error::Ok);
  CHECK(register_backend({"DemoBackend", &backend}) == Error::Ok);
  CHECK(get_num_registered_backends() == before + 1);
  CHECK(register_backend({"DemoBackend", &another}) == Error::RegistrationAlreadyRegistered);
  CHECK(get_backend_class("DemoBackend") == &backend && get_backend_class("Other") == nullptr);
  CHECK(get_backend_name(99).error() == Error::NotFound);
  {
    Module module(program);
    CHECK(module.method_meta("forward")->uses_backend("DemoBackend"));
    const std::vector<float> plain = run(module);
    CHECK(handles > 0 && plain.size() == 8);

    // The options reach the delegate.
    BackendOptions<1> options;
    CHECK(options.set_option("gain", 13) == Error::Ok);
    LoadBackendOptionsMap map;
    CHECK(map.set_options("DemoBackend", options.view()) == Error::Ok);
    Module unlucky(program);
    CHECK(unlucky.load(map) == Error::Ok && unlucky.load_forward() == Error::Ok);
    auto x = executorch::extension::ones({2, 4});
    CHECK(unlucky.forward({x, x}).error() == Error::InvalidState);
    CHECK_CONTAINS(last_error_message(), "thirteen is unlucky");
  }
  CHECK(handles == 0);

  BackendOptions<1> options;
  CHECK(options.set_option("number", 42) == Error::Ok && set_option("DemoBackend", options.view()) == Error::Ok);
  CHECK(options.set_option("number", 0) == Error::Ok && get_option("DemoBackend", options.view()) == Error::Ok);
  int number = 0;
  CHECK(options.get_option("number", number) == Error::Ok && number == 42);
  CHECK(set_option("Other", options.view()) == Error::NotFound);
  return finish();
}
