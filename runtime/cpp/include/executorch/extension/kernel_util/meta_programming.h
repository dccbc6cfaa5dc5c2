/// \file
/// Functions as types, and what their signatures say.

#pragma once

#include <type_traits>

#include <executorch/extension/kernel_util/type_list.h>

/// A function as a type: `EXECUTORCH_FN(add_out)` is a value of it.
#define EXECUTORCH_FN_TYPE(func)                                                              \
  ::executorch::extension::kernel_util_internal::CompileTimeFunctionPointer<                  \
      std::remove_pointer_t<std::remove_reference_t<decltype(func)>>, func>
/// A function as a value of a type of its own, for `make_boxed_kernel`.
#define EXECUTORCH_FN(func) EXECUTORCH_FN_TYPE(func)()

namespace executorch {
namespace extension {
namespace kernel_util_internal {

/// A function known at compile time.
template <typename FuncType_, FuncType_* func_ptr_>
struct CompileTimeFunctionPointer final {
  static_assert(std::is_function_v<FuncType_>, "EXECUTORCH_FN takes a function");
  using FuncType = FuncType_;

  static constexpr FuncType* func_ptr() {
    return func_ptr_;
  }
};

template <typename T>
struct is_compile_time_function_pointer : std::false_type {};
template <typename FuncType, FuncType* func_ptr>
struct is_compile_time_function_pointer<CompileTimeFunctionPointer<FuncType, func_ptr>> : std::true_type {};

/// What a function takes and returns.
template <typename Func>
struct infer_function_traits;
template <typename Result, typename... Args>
struct infer_function_traits<Result(Args...)> {
  using return_type = Result;
  using parameter_types = typelist<Args...>;
};
template <typename Result, typename... Args>
struct infer_function_traits<Result (*)(Args...)> : infer_function_traits<Result(Args...)> {};

} // namespace kernel_util_internal
} // namespace extension
} // namespace executorch
