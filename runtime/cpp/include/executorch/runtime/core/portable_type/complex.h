/// \file
/// Complex numbers of any real type, 16-bit ones included.

#pragma once

#include <type_traits>
#include <utility>

#include <executorch/runtime/core/portable_type/half.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// Two numbers side by side, real part first, aligned as PyTorch aligns them. Converts from and to `std::complex<T>`, whose
/// header, a large one, is not included here.
template <typename T>
struct alignas(sizeof(T) * 2) complex {
 private:
  /// The type of the parts of another complex number.
  template <typename Other, typename Real = decltype(std::declval<const Other&>().real())>
  using parts = std::enable_if_t<std::is_same_v<typename Other::value_type, Real>, Real>;

 public:
  using value_type = T;

  T real_ = T(0);
  T imag_ = T(0);

  constexpr complex() = default;
  /* implicit */ constexpr complex(const T& real, const T& imag = T(0)) : real_(real), imag_(imag) {}
  template <typename Other, typename Parts = parts<Other>, std::enable_if_t<std::is_same_v<Parts, T>, int> = 0>
  explicit constexpr complex(const Other& other) : real_(other.real()), imag_(other.imag()) {}
  template <typename U, std::enable_if_t<!std::is_same_v<U, T>, int> = 0>
  explicit constexpr complex(const complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}

  template <typename Other, typename Parts = parts<Other>, std::enable_if_t<std::is_same_v<Parts, T>, int> = 0>
  explicit constexpr operator Other() const {
    return Other(real_, imag_);
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
    const Wide ar = wide(a.real_), ai = wide(a.imag_), br = wide(b.real_), bi = wide(b.imag_);
    return {static_cast<T>(ar * br - ai * bi), static_cast<T>(ar * bi + ai * br)};
  }

  friend complex operator/(const complex& a, const complex& b) {
    const Wide ar = wide(a.real_), ai = wide(a.imag_), br = wide(b.real_), bi = wide(b.imag_);
    const Wide real_size = br < 0 ? -br : br, imag_size = bi < 0 ? -bi : bi;
    if (real_size == 0 && imag_size == 0) {
      return {static_cast<T>(ar / real_size), static_cast<T>(ai / imag_size)};
    }
    // Divided by the larger part first, so that no square overflows.
    if (real_size >= imag_size) {
      const Wide ratio = bi / br, whole = br + bi * ratio;
      return {static_cast<T>((ar + ai * ratio) / whole), static_cast<T>((ai - ar * ratio) / whole)};
    }
    const Wide ratio = br / bi, whole = br * ratio + bi;
    return {static_cast<T>((ar * ratio + ai) / whole), static_cast<T>((ai * ratio - ar) / whole)};
  }

  friend constexpr bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }

  friend constexpr bool operator!=(const complex& a, const complex& b) {
    return !(a == b);
  }

 private:
  // 16-bit parts are calculated with as 32-bit ones.
  using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

  static constexpr Wide wide(const T& part) {
    return static_cast<Wide>(part);
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
