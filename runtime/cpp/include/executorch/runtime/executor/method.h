/// \file
/// A program's function, loaded and ready to run. The C side is executorch/c/method.h.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/c/method.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

class Program;

/// The arguments of an instruction.
using InstructionArgs = Span<EValue*>;

/// A loaded method, made by `Program::load_method`. Used by one thread at a time. Keeps what it needs of the program;
/// the data loader, data map, allocators and tracer that it was loaded with must outlive it.
class Method final {
 public:
  /// Takes the other's method. The other may only be destroyed or assigned to.
  Method(Method&& other) noexcept = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  Method& operator=(Method&&) = delete;

  /// Sets input `input_idx`.
  ///
  /// A tensor must have the input's element type, rank and dim order, and sizes that it allows. If the input's memory
  /// is planned, the data is copied, which the host must be able to do (`Error::NotSupported` otherwise); else the method
  /// uses the caller's data until it is set again. Numbers and strings must equal what the program was exported with. `Error::InvalidArgument` tells what does not fit.
  ET_NODISCARD Error set_input(const EValue& input_evalue, size_t input_idx) {
    return internal::from_c(et_method_set_input(method(), input_idx, internal::to_c(&input_evalue)));
  }

  /// Sets all inputs: as many values as there are inputs.
  ET_NODISCARD Error set_inputs(const executorch::aten::ArrayRef<EValue>& input_evalues) {
    ET_CHECK_OR_RETURN_ERROR(
        input_evalues.size() == inputs_size(), InvalidArgument, "%s takes %zu inputs, found %zu",
        method_meta().name(), inputs_size(), input_evalues.size());
    for (size_t i = 0; i < input_evalues.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(set_input(input_evalues[i], i));
    }
    return Error::Ok;
  }

  /// Lets output `output_idx` be written to `buffer`, which must hold `size` bytes for all coming runs, on the device that
  /// `method_meta().output_tensor_meta(output_idx)` tells.
  /// `Error::InvalidState` if the output's memory is planned, `Error::InvalidArgument` if `size` is too small.
  ET_NODISCARD Error set_output_data_ptr(void* buffer, size_t size, size_t output_idx) {
    return internal::from_c(et_method_set_output_data(method(), output_idx, buffer, size));
  }

  /// Copies the outputs' values to `output_evalues`, which has `length` places: at least `outputs_size()`. The rest
  /// becomes None. The values view the method; the next run overwrites their data.
  ET_NODISCARD Error get_outputs(EValue* output_evalues, size_t length) {
    return get_all(output_evalues, length, outputs_size(), &et_method_output);
  }

  /// As `get_outputs`, for the inputs as the method holds them.
  ET_NODISCARD Error get_inputs(EValue* input_evalues, size_t length) {
    return get_all(input_evalues, length, inputs_size(), &et_method_input);
  }

  /// An attribute: a named tensor with mutable memory. `Error::NotFound` if there is none of this name.
  ET_NODISCARD Result<executorch::aten::Tensor> get_attribute(std::string_view name) {
    et_tensor_t* tensor = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(
        internal::from_c(et_method_attribute(method(), std::string(name).c_str(), &tensor)));
    return executorch::aten::Tensor(reinterpret_cast<executorch::aten::TensorImpl*>(tensor));
  }

  /// Runs the method from its first instruction to its last. All inputs must be set. After a failure it may be run
  /// again; state that the run changed before stays changed.
  ET_NODISCARD Error execute() {
    return internal::from_c(et_method_execute(method()));
  }

  /// Runs one instruction; `Error::EndOfMethod` after the last one.
  ET_NODISCARD Error step() {
    return internal::from_c(et_method_step(method()));
  }

  /// The older name of `step`.
  ET_NODISCARD Error experimental_step() {
    return step();
  }

  /// Whether stepping has begun and not ended.
  bool in_progress() const {
    return et_method_in_progress(method());
  }

  /// Goes back to the first instruction.
  ET_NODISCARD Error reset_execution() {
    return internal::from_c(et_method_reset(method()));
  }

  /// The older name of `reset_execution`.
  ET_NODISCARD Error experimental_reset_execution() {
    return reset_execution();
  }

  /// What the program says of the method; valid as long as the method.
  MethodMeta method_meta() const {
    return MethodMeta(et_method_metadata(method()));
  }

  size_t inputs_size() const {
    return et_method_input_count(method());
  }

  size_t outputs_size() const {
    return et_method_output_count(method());
  }

  /// Output `i`; valid as long as the method, and overwritten by the next run. Ends the process past the end.
  const EValue& get_output(size_t i) const {
    return at(et_method_output(method(), i), "output", i);
  }

  /// Input `i` as the method holds it. Ends the process past the end.
  const EValue& get_input(size_t i) const {
    return at(et_method_input(method(), i), "input", i);
  }

  /// As `get_input`, to be changed.
  EValue& mutable_input(size_t i) {
    return at(et_method_input(method(), i), "input", i);
  }

  /// As `get_output`, to be changed.
  EValue& mutable_output(size_t i) {
    return at(et_method_output(method(), i), "output", i);
  }

  /// The tracer that the method was loaded with; null if there is none.
  EventTracer* get_event_tracer() {
    return state_->tracer == nullptr ? nullptr : state_->tracer->tracer();
  }

 private:
  friend class Program;

  struct Release {
    void operator()(et_method_t* method) const {
      et_method_release(method);
    }
  };

  // What the runtime's method points to. Members are destroyed last first: the method before what it uses.
  struct State {
    std::unique_ptr<internal::MemoryBridge> memory;
    std::unique_ptr<internal::TracerBridge> tracer;
    et_data_map_t data_map{};
    std::vector<et_kernel_t> kernels;
    std::unique_ptr<et_method_t, Release> method;
  };

  explicit Method(std::unique_ptr<State> state) : state_(std::move(state)) {}

  static Result<Method> load(
      et_program_t* program,
      const char* name,
      MemoryManager* memory_manager,
      EventTracer* event_tracer,
      const NamedDataMap* named_data_map,
      const LoadBackendOptionsMap* backend_options,
      Span<const Kernel> kernel_registry) {
    auto state = std::make_unique<State>();
    const internal::OptionsBridge backends(backend_options);
    et_method_options_t options{};
    options.struct_size = sizeof options;
    if (memory_manager != nullptr) {
      state->memory = std::make_unique<internal::MemoryBridge>(*memory_manager);
      options.memory = state->memory->c_memory();
    }
    if (event_tracer != nullptr) {
      state->tracer = std::make_unique<internal::TracerBridge>(event_tracer);
      options.tracer = state->tracer->c_tracer();
    }
    if (named_data_map != nullptr) {
      state->data_map = internal::to_c(named_data_map);
      options.data_map = &state->data_map;
    }
    for (const Kernel& kernel : kernel_registry) {
      state->kernels.push_back(internal::to_c(kernel));
    }
    options.backend_options = backends.data();
    options.backend_options_count = backends.size();
    options.kernels = state->kernels.data();
    options.kernel_count = state->kernels.size();
    et_method_t* method = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_program_load_method(program, name, &options, &method)));
    state->method.reset(method);
    return Method(std::move(state));
  }

  et_method_t* method() const {
    return state_->method.get();
  }

  static EValue& at(et_value_t* value, const char* what, size_t index) {
    ET_CHECK_MSG(value != nullptr, "the method has no %s %zu", what, index);
    return *internal::from_c(value);
  }

  Error get_all(EValue* values, size_t length, size_t count, et_value_t* (*get)(et_method_t*, size_t)) {
    ET_CHECK_OR_RETURN_ERROR(
        length >= count && (values != nullptr || length == 0), InvalidArgument, "%zu places for %zu values", length,
        count);
    for (size_t i = 0; i < length; ++i) {
      et_value_t* value = i < count ? get(method(), i) : nullptr;
      values[i] = value == nullptr ? EValue() : *internal::from_c(value);
    }
    return Error::Ok;
  }

  std::unique_ptr<State> state_;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Method;
} // namespace executor
} // namespace torch
