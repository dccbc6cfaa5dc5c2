/// \file
/// Complex numbers of any real type, 16-bit ones included.

#pragma once

#include <complex>
#include <type_traits>

#include <executorch/runtime/core/portable_type/half.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// Two numbers side by side, real part first, aligned as PyTorch aligns them.
template <typename T>
struct alignas(sizeof(T) * 2) complex {
  using value_type = T;

  T real_ = T(0);
  T imag_ = T(0);

  constexpr complex() = default;
  /* implicit */ constexpr complex(const T& real, const T& imag = T(0)) : real_(real), imag_(imag) {}
  explicit constexpr complex(const std::complex<T>& other) : real_(other.real()), imag_(other.imag()) {}
  template <typename U, std::enable_if_t<!std::is_same_v<U, T>, int> = 0>
  explicit constexpr complex(const complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}

  explicit constexpr operator std::complex<T>() const {
    return {real_, imag_};
  }

  constexpr T real() const {
    return real_;
  }

  constexpr T imag() const {
    return imag_;
  }

  constexpr void real(T value) {
    real_ = value;
  }

  constexpr void imag(T value) {
    imag_ = value;
  }

  complex& operator+=(const complex& other) {
    return *this = *this + other;
  }

  complex& operator-=(const complex& other) {
    return *this = *this - other;
  }

  complex& operator*=(const complex& other) {
    return *this = *this * other;
  }

  complex& operator/=(const complex& other) {
    return *this = *this / other;
  }

  friend complex operator+(const complex& a, const complex& b) {
    return {static_cast<T>(a.real_ + b.real_), static_cast<T>(a.imag_ + b.imag_)};
  }

  friend complex operator-(const complex& a, const complex& b) {
    return {static_cast<T>(a.real_ - b.real_), static_cast<T>(a.imag_ - b.imag_)};
  }

  friend complex operator-(const complex& a) {
    return {static_cast<T>(-a.real_), static_cast<T>(-a.imag_)};
  }

  friend complex operator*(const complex& a, const complex& b) {
    return from(wide(a) * wide(b));
  }

  friend complex operator/(const complex& a, const complex& b) {
    return from(wide(a) / wide(b));
  }

  friend constexpr bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }

  friend constexpr bool operator!=(const complex& a, const complex& b) {
    return !(a == b);
  }

 private:
  // std::complex is specified for the built-in types only.
  using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

  static std::complex<Wide> wide(const complex& value) {
    return {static_cast<Wide>(value.real_), static_cast<Wide>(value.imag_)};
  }

  static complex from(const std::complex<Wide>& value) {
    return {static_cast<T>(value.real()), static_cast<T>(value.imag())};
  }
};

static_assert(sizeof(complex<Half>) == 4 && sizeof(complex<float>) == 8 && sizeof(complex<double>) == 16);

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::complex;
} // namespace executor
} // namespace torch
