/// \file
/// A view of something callable.

#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace executorch {
namespace runtime {

template <typename Signature>
class FunctionRef;

/// Calls a callable that somebody else owns. For parameters: a temporary lambda lives until the call returns.
template <typename Ret, typename... Params>
class FunctionRef<Ret(Params...)> {
 public:
  /// Nothing to call.
  FunctionRef() = default;
  /// Nothing to call.
  /* implicit */ FunctionRef(std::nullptr_t) {}

  /// A callable, which must outlive the view.
  template <
      typename Callable,
      std::enable_if_t<
          !std::is_same_v<std::remove_cv_t<std::remove_reference_t<Callable>>, FunctionRef> &&
              std::is_invocable_r_v<Ret, Callable&, Params...>,
          int> = 0>
  /* implicit */ FunctionRef(Callable&& callable)
      : call_(&call<std::remove_reference_t<Callable>>), callable_(reinterpret_cast<intptr_t>(&callable)) {}

  /// Calls it; there must be one.
  Ret operator()(Params... params) const {
    return call_(callable_, std::forward<Params>(params)...);
  }

  /// Whether there is something to call.
  explicit operator bool() const {
    return call_ != nullptr;
  }

  bool operator==(const FunctionRef& other) const {
    return callable_ == other.callable_;
  }

 private:
  template <typename Callable>
  static Ret call(intptr_t callable, Params... params) {
    return (*reinterpret_cast<Callable*>(callable))(std::forward<Params>(params)...);
  }

  Ret (*call_)(intptr_t callable, Params... params) = nullptr;
  intptr_t callable_ = 0;
};

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::FunctionRef;
} // namespace executor
} // namespace torch
