/// \file
/// IEEE binary16 numbers.

#pragma once

#include <cstdint>

#include <executorch/runtime/core/portable_type/small_float.h>

namespace executorch {
namespace runtime {
namespace etensor {
namespace internal {

/// binary32 from binary16, exact.
inline float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) {
    return float_from_bits(sign | 0x7f800000 | mantissa << 13);
  }
  if (exponent == 0) {
    // A subnormal is its mantissa times 2^-24, which binary32 holds exactly.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return float_from_bits(float_bits(magnitude) | sign);
  }
  return float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

/// The nearest binary16, ties to even.
inline uint16_t half_from_float(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  }
  if (magnitude >= 0x477ff000) {
    return static_cast<uint16_t>(sign | 0x7c00);
  }
  if (magnitude < 0x38800000) {
    // Below the smallest normal number: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
    const uint32_t rounded = float_bits(float_from_bits(magnitude) + 0.5f) - 0x3f000000;
    return static_cast<uint16_t>(sign | rounded);
  }
  const uint32_t even = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + even) >> 13));
}

} // namespace internal

/// An IEEE binary16 number. Arithmetic is done in float and rounded to nearest even.
struct alignas(2) Half {
  /// The number's bits.
  uint16_t x;

  struct from_bits_t {};

  /// The number with these bits.
  static constexpr from_bits_t from_bits() {
    return {};
  }

  Half() = default;
  constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  /* implicit */ Half(float value) : x(internal::half_from_float(value)) {}

  /* implicit */ operator float() const {
    return internal::half_to_float(x);
  }
};

ET_INTERNAL_SMALL_FLOAT_OPERATORS(Half)

} // namespace etensor
} // namespace runtime
} // namespace executorch

ET_INTERNAL_SMALL_FLOAT_LIMITS(
    executorch::runtime::etensor::Half,
    /*digits=*/11,
    /*digits10=*/3,
    /*max_digits10=*/5,
    /*min_exponent=*/-13,
    /*min_exponent10=*/-4,
    /*max_exponent=*/16,
    /*max_exponent10=*/4,
    /*lowest=*/0xfbff,
    /*min=*/0x0400,
    /*max=*/0x7bff,
    /*epsilon=*/0x1400,
    /*round_error=*/0x3800,
    /*infinity=*/0x7c00,
    /*quiet_nan=*/0x7e00,
    /*signaling_nan=*/0x7d00,
    /*denorm_min=*/0x0001)

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Half;
} // namespace executor
} // namespace torch
