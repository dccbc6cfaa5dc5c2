/// \file
/// A value, or the error that says why there is none.

#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/// A value of type `T`, or an `Error`. Asking one that failed for its value ends the process: look at `ok()` first,
/// or use `ET_UNWRAP`. Can be moved, not copied.
template <typename T>
class ET_NODISCARD Result final {
 public:
  using value_type = T;

  /// A failure. `Error::Ok` is no failure: it is turned into `Error::Internal`.
  /* implicit */ Result(Error error) : error_(error == Error::Ok ? Error::Internal : error), ok_(false) {}

  /// A success.
  /* implicit */ Result(const T& value) : value_(value), ok_(true) {}

  /// A success.
  /* implicit */ Result(T&& value) : value_(std::move(value)), ok_(true) {}

  /// Takes the other's value or error; the other's value is left moved-from.
  /* implicit */ Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_) {
      new (const_cast<std::remove_const_t<T>*>(&value_)) T(std::move(other.value_));
    } else {
      error_ = other.error_;
    }
  }

  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;

  ~Result() {
    if (ok_) {
      value_.~T();
    }
  }

  /// Whether there is a value.
  ET_NODISCARD bool ok() const {
    return ok_;
  }

  /// The error; `Error::Ok` if there is a value.
  ET_NODISCARD Error error() const {
    return ok_ ? Error::Ok : error_;
  }

  /// The value.
  T& get() {
    check();
    return value_;
  }

  /// The value.
  const T& get() const {
    check();
    return value_;
  }

  T& operator*() & {
    return get();
  }

  const T& operator*() const& {
    return get();
  }

  T&& operator*() && {
    return std::move(get());
  }

  T* operator->() {
    return &get();
  }

  const T* operator->() const {
    return &get();
  }

 private:
  void check() const {
    ET_CHECK_MSG(ok_, "the result holds error %s (0x%x), no value", to_string(error_), static_cast<unsigned>(error_));
  }

  union {
    T value_;
    Error error_;
  };
  const bool ok_;
};

namespace internal {

/// `result` itself.
template <typename T>
Result<T> with_context(Result<T>&& result) {
  return std::move(result);
}

/// `result` itself; if it holds an error, the message is put in front of the last error message.
template <typename T>
ET_PRINTFLIKE(2, 3)
Result<T> with_context(Result<T>&& result, const char* format, ...) {
  if (!result.ok()) {
    va_list args;
    va_start(args, format);
    vwith_context(result.error(), format, args);
    va_end(args);
  }
  return std::move(result);
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Result;
} // namespace executor
} // namespace torch

/// `auto value = ET_UNWRAP(result[, format, …]);`: the value of a result, or a return from the enclosing function with
/// its error, the message in front of what the failing call said. The result must be an rvalue.
#define ET_UNWRAP(...)                                                              \
  __extension__({                                                                   \
    auto et_result__ = ::executorch::runtime::internal::with_context(__VA_ARGS__);  \
    if (ET_UNLIKELY(!et_result__.ok())) {                                           \
      return et_result__.error();                                                   \
    }                                                                               \
    std::move(*et_result__);                                                        \
  })

/// `ET_ASSIGN_OR_RETURN(auto value, result[, format, …]);`: as `ET_UNWRAP`, in standard C++. It is more than one
/// statement: put it in braces after an `if`.
#define ET_ASSIGN_OR_RETURN(target__, ...) \
  ET_INTERNAL_ASSIGN_OR_RETURN(ET_INTERNAL_PASTE(et_result_, __COUNTER__), target__, __VA_ARGS__)
#define ET_INTERNAL_ASSIGN_OR_RETURN(name__, target__, ...)                \
  auto name__ = ::executorch::runtime::internal::with_context(__VA_ARGS__); \
  if (ET_UNLIKELY(!name__.ok())) {                                         \
    return name__.error();                                                 \
  }                                                                        \
  target__ = std::move(*name__)
#define ET_INTERNAL_PASTE(a__, b__) ET_INTERNAL_PASTE_2(a__, b__)
#define ET_INTERNAL_PASTE_2(a__, b__) a__##b__
