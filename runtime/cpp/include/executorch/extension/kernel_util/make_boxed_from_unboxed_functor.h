/// \file
/// Kernels from ordinary functions: `EXECUTORCH_LIBRARY(my_ops, "add.out", add_out);` registers
/// `Tensor& add_out(KernelRuntimeContext&, const Tensor&, const Tensor&, Tensor&)` as `my_ops::add.out` before `main`.

#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <executorch/extension/kernel_util/meta_programming.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace extension {

namespace kernel_util_internal {

template <typename T>
using plain_t = std::remove_cv_t<std::remove_reference_t<T>>;

/// Whether a parameter refers to a tensor.
template <typename T>
inline constexpr bool is_tensor_reference =
    std::is_lvalue_reference_v<T> && std::is_same_v<plain_t<T>, executorch::aten::Tensor>;

/// An argument for a parameter of type `T`, from a value that fits.
template <typename T>
std::conditional_t<is_tensor_reference<T>, T, plain_t<T>> argument(runtime::EValue& value) {
  if constexpr (is_tensor_reference<T>) {
    return value.toTensor();
  } else {
    return std::move(*value.template tryTo<plain_t<T>>());
  }
}

/// Whether a value can be passed as `T`.
template <typename T>
bool fits(const runtime::EValue& value) {
  return value.template tryTo<plain_t<T>>().ok();
}

template <typename Function, bool has_context, typename Args, typename Indices>
struct Caller;
template <typename Function, bool has_context, typename... Args, size_t... indices>
struct Caller<Function, has_context, typelist<Args...>, std::index_sequence<indices...>> {
  static void call(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> stack) {
    if (stack.size() < sizeof...(Args)) {
      context.fail(runtime::internal::fail(
          runtime::Error::InvalidArgument, "the kernel takes %zu arguments, found %zu", sizeof...(Args), stack.size()));
      return;
    }
    if (!(fits<Args>(*stack[indices]) && ...)) {
      // `tryTo` left a message that says what was expected and found.
      context.fail(runtime::Error::InvalidType);
      return;
    }
    if constexpr (has_context) {
      (*Function::func_ptr())(context, argument<Args>(*stack[indices])...);
    } else {
      (*Function::func_ptr())(argument<Args>(*stack[indices])...);
    }
  }
};

} // namespace kernel_util_internal

/// Calls a function with the values on the stack as its arguments. Values of another type fail the call.
template <typename FuncType>
struct WrapUnboxedIntoFunctor {
  static_assert(
      kernel_util_internal::is_compile_time_function_pointer<FuncType>::value,
      "give the function as EXECUTORCH_FN(function)");
  using TrueType = typename FuncType::FuncType;
  using ReturnType = typename kernel_util_internal::infer_function_traits<TrueType>::return_type;
  using ArgsType = typename kernel_util_internal::infer_function_traits<TrueType>::parameter_types;
  /// Whether the function takes the context first.
  static constexpr bool first_arg_is_context = std::is_same_v<
      runtime::KernelRuntimeContext,
      std::remove_cv_t<
          std::remove_reference_t<kernel_util_internal::head_with_default_t<void, ArgsType>>>>;
  using ContextRemovedArgsType = std::
      conditional_t<first_arg_is_context, typename kernel_util_internal::drop_first<ArgsType>::type, ArgsType>;

  static void call(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> stack) {
    constexpr size_t count = kernel_util_internal::size<ContextRemovedArgsType>::value;
    kernel_util_internal::
        Caller<FuncType, first_arg_is_context, ContextRemovedArgsType, std::make_index_sequence<count>>::call(
            context, stack);
  }
};

/// A kernel from a function: `make_boxed_kernel("my_ops::add.out", EXECUTORCH_FN(add_out))`. The name must outlive it.
template <typename FuncType>
runtime::Kernel make_boxed_kernel(const char* name, FuncType) {
  return runtime::Kernel(name, WrapUnboxedIntoFunctor<FuncType>::call);
}

} // namespace extension
} // namespace executorch

#define ET_CONCATENATE_IMPL(s1, s2) s1##s2
#define ET_CONCATENATE(s1, s2) ET_CONCATENATE_IMPL(s1, s2)
#define ET_UID __LINE__

/// Registers a function as the operator `ns::op_name` before `main`. What is refused is told when a method is loaded.
#define EXECUTORCH_LIBRARY(ns, op_name, func)                                                                     \
  [[maybe_unused]] static const ::executorch::runtime::Error ET_CONCATENATE(et_registered_##ns##_, ET_UID) =      \
      ::executorch::runtime::register_kernel(                                                                     \
          ::executorch::extension::make_boxed_kernel(#ns "::" op_name, EXECUTORCH_FN(func)))

namespace torch {
namespace executor {
using ::executorch::extension::make_boxed_kernel;
using ::executorch::extension::WrapUnboxedIntoFunctor;
} // namespace executor
} // namespace torch
