/// \file
/// What the 16-bit floating-point types share. Not for inclusion by programs.

#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace executorch {
namespace runtime {
namespace etensor {
namespace internal {

inline uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace internal
} // namespace etensor
} // namespace runtime
} // namespace executorch

// One operator and its assigning form: with itself it stays in the type; with a built-in number it gives what float
// would give.
#define ET_INTERNAL_SMALL_FLOAT_OPERATOR(type, op)                                                       \
  inline type operator op(type a, type b) {                                                              \
    return static_cast<float>(a) op static_cast<float>(b);                                               \
  }                                                                                                      \
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>                              \
  auto operator op(type a, T b) {                                                                        \
    if constexpr (std::is_integral_v<T>) {                                                               \
      return static_cast<type>(static_cast<float>(a) op static_cast<float>(b));                          \
    } else {                                                                                             \
      return static_cast<float>(a) op b;                                                                 \
    }                                                                                                    \
  }                                                                                                      \
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>                              \
  auto operator op(T a, type b) {                                                                        \
    if constexpr (std::is_integral_v<T>) {                                                               \
      return static_cast<type>(static_cast<float>(a) op static_cast<float>(b));                          \
    } else {                                                                                             \
      return a op static_cast<float>(b);                                                                 \
    }                                                                                                    \
  }                                                                                                      \
  inline type& operator op##=(type& a, type b) {                                                         \
    return a = a op b;                                                                                   \
  }

#define ET_INTERNAL_SMALL_FLOAT_OPERATORS(type)    \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(type, +)        \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(type, -)        \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(type, *)        \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(type, /)        \
  inline type operator-(type a) {                  \
    return -static_cast<float>(a);                 \
  }

#define ET_INTERNAL_SMALL_FLOAT_LIMITS(                                                                           \
    type, digits_, digits10_, max_digits10_, min_exponent_, min_exponent10_, max_exponent_, max_exponent10_,      \
    lowest_, min_, max_, epsilon_, round_error_, infinity_, quiet_nan_, signaling_nan_, denorm_min_)              \
  template <>                                                                                                     \
  class std::numeric_limits<type> {                                                                               \
    static constexpr type bits(uint16_t x) {                                                                      \
      return type(x, type::from_bits());                                                                          \
    }                                                                                                             \
                                                                                                                  \
   public:                                                                                                        \
    static constexpr bool is_specialized = true;                                                                  \
    static constexpr bool is_signed = true;                                                                       \
    static constexpr bool is_integer = false;                                                                     \
    static constexpr bool is_exact = false;                                                                       \
    static constexpr bool has_infinity = true;                                                                    \
    static constexpr bool has_quiet_NaN = true;                                                                   \
    static constexpr bool has_signaling_NaN = true;                                                               \
    static constexpr auto has_denorm = std::denorm_present;                                                       \
    static constexpr bool has_denorm_loss = false;                                                                \
    static constexpr auto round_style = std::round_to_nearest;                                                    \
    static constexpr bool is_iec559 = true;                                                                       \
    static constexpr bool is_bounded = true;                                                                      \
    static constexpr bool is_modulo = false;                                                                      \
    static constexpr bool traps = false;                                                                          \
    static constexpr bool tinyness_before = false;                                                                \
    static constexpr int radix = 2;                                                                               \
    static constexpr int digits = digits_;                                                                        \
    static constexpr int digits10 = digits10_;                                                                    \
    static constexpr int max_digits10 = max_digits10_;                                                            \
    static constexpr int min_exponent = min_exponent_;                                                            \
    static constexpr int min_exponent10 = min_exponent10_;                                                        \
    static constexpr int max_exponent = max_exponent_;                                                            \
    static constexpr int max_exponent10 = max_exponent10_;                                                        \
    static constexpr type lowest() { return bits(lowest_); }                                                      \
    static constexpr type min() { return bits(min_); }                                                            \
    static constexpr type max() { return bits(max_); }                                                            \
    static constexpr type epsilon() { return bits(epsilon_); }                                                    \
    static constexpr type round_error() { return bits(round_error_); }                                            \
    static constexpr type infinity() { return bits(infinity_); }                                                  \
    static constexpr type quiet_NaN() { return bits(quiet_nan_); }                                                \
    static constexpr type signaling_NaN() { return bits(signaling_nan_); }                                        \
    static constexpr type denorm_min() { return bits(denorm_min_); }                                              \
  };
