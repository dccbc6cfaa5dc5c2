/// \file
/// bfloat16 numbers: the upper half of a float.

#pragma once

#include <cstdint>

#include <executorch/runtime/core/portable_type/small_float.h>

namespace executorch {
namespace runtime {
namespace etensor {
namespace internal {

/// The nearest bfloat16, ties to even.
inline uint16_t bfloat16_from_float(float value) {
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000) {
    return 0x7fc0;
  }
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace internal

/// A bfloat16 number. Arithmetic is done in float and rounded to nearest even.
struct alignas(2) BFloat16 {
  /// The number's bits.
  uint16_t x;

  struct from_bits_t {};

  /// The number with these bits.
  static constexpr from_bits_t from_bits() {
    return {};
  }

  BFloat16() = default;
  constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  /* implicit */ BFloat16(float value) : x(internal::bfloat16_from_float(value)) {}

  /* implicit */ operator float() const {
    return internal::float_from_bits(static_cast<uint32_t>(x) << 16);
  }
};

ET_INTERNAL_SMALL_FLOAT_OPERATORS(BFloat16)

} // namespace etensor
} // namespace runtime
} // namespace executorch

ET_INTERNAL_SMALL_FLOAT_LIMITS(
    executorch::runtime::etensor::BFloat16,
    /*digits=*/8,
    /*digits10=*/2,
    /*max_digits10=*/4,
    /*min_exponent=*/-125,
    /*min_exponent10=*/-37,
    /*max_exponent=*/128,
    /*max_exponent10=*/38,
    /*lowest=*/0xff7f,
    /*min=*/0x0080,
    /*max=*/0x7f7f,
    /*epsilon=*/0x3c00,
    /*round_error=*/0x3f00,
    /*infinity=*/0x7f80,
    /*quiet_nan=*/0x7fc0,
    /*signaling_nan=*/0x7fa0,
    /*denorm_min=*/0x0001)

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::BFloat16;
} // namespace executor
} // namespace torch
