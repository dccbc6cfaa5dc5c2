/// \file
/// A number of any kind.

#pragma once

#include <cstdint>
#include <type_traits>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// An integer, a floating-point number or a boolean.
class Scalar {
 public:
  /// The integer 0.
  Scalar() : Scalar(int64_t{0}) {}

  /// An integer.
  template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, bool> = true>
  /* implicit */ Scalar(T value) : tag_(Tag::Int) {
    value_.as_int = static_cast<int64_t>(value);
  }

  /// A boolean.
  /* implicit */ Scalar(bool value) : tag_(Tag::Bool) {
    value_.as_int = value ? 1 : 0;
  }

  /// A floating-point number.
  /* implicit */ Scalar(double value) : tag_(Tag::Double) {
    value_.as_double = value;
  }

  /// A floating-point number.
  /* implicit */ Scalar(BFloat16 value) : Scalar(static_cast<double>(static_cast<float>(value))) {}

  /// A floating-point number.
  /* implicit */ Scalar(Half value) : Scalar(static_cast<double>(static_cast<float>(value))) {}

  /// The number as `T`, which is `int64_t`, `double`, `bool` or another arithmetic type. Ends the process if a
  /// floating-point number is asked for as an integer or a boolean.
  template <typename T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      ET_CHECK_MSG(tag_ != Tag::Double, "%s", "a floating-point number is no boolean");
      return value_.as_int != 0;
    } else if constexpr (std::is_integral_v<T>) {
      ET_CHECK_MSG(tag_ != Tag::Double, "%s", "a floating-point number is no integer");
      return static_cast<T>(value_.as_int);
    } else {
      return tag_ == Tag::Double ? static_cast<T>(value_.as_double) : static_cast<T>(value_.as_int);
    }
  }

  /// Whether it is an integer, or with `includeBool` a boolean.
  bool isIntegral(bool includeBool) const {
    return tag_ == Tag::Int || (includeBool && isBoolean());
  }

  bool isFloatingPoint() const {
    return tag_ == Tag::Double;
  }

  bool isBoolean() const {
    return tag_ == Tag::Bool;
  }

  /// As `to<int64_t>`.
  int64_t toInt() const {
    return to<int64_t>();
  }

  /// As `to<double>`.
  double toFloatingPoint() const {
    return to<double>();
  }

  /// As `to<double>`.
  double toDouble() const {
    return to<double>();
  }

  /// As `to<bool>`.
  bool toBool() const {
    return to<bool>();
  }

 private:
  Tag tag_;
  union {
    int64_t as_int;
    double as_double;
  } value_;
};

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Scalar;
} // namespace executor
} // namespace torch
