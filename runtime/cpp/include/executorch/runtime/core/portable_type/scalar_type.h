/// \file
/// Element types. The C side is executorch/c/tensor.h.

#pragma once

#include <cstdint>

#include <executorch/c/tensor.h>
#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/bits_types.h>
#include <executorch/runtime/core/portable_type/complex.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/core/portable_type/qint_types.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// Types that no operator computes with, but that tensors may have.
namespace unused_dtype {

/// An 8-bit float with 5 exponent bits.
struct alignas(1) Float8_e5m2 {
  using underlying = uint8_t;
  uint8_t x = 0;
  Float8_e5m2() = default;
  explicit constexpr Float8_e5m2(uint8_t bits) : x(bits) {}
};

/// An 8-bit float with 4 exponent bits and no infinity.
struct alignas(1) Float8_e4m3fn {
  using underlying = uint8_t;
  uint8_t x = 0;
  Float8_e4m3fn() = default;
  explicit constexpr Float8_e4m3fn(uint8_t bits) : x(bits) {}
};

/// An 8-bit float with 5 exponent bits, no infinity and no negative zero.
struct alignas(1) Float8_e5m2fnuz {
  using underlying = uint8_t;
  uint8_t x = 0;
  Float8_e5m2fnuz() = default;
  explicit constexpr Float8_e5m2fnuz(uint8_t bits) : x(bits) {}
};

/// An 8-bit float with 4 exponent bits, no infinity and no negative zero.
struct alignas(1) Float8_e4m3fnuz {
  using underlying = uint8_t;
  uint8_t x = 0;
  Float8_e4m3fnuz() = default;
  explicit constexpr Float8_e4m3fnuz(uint8_t bits) : x(bits) {}
};

} // namespace unused_dtype

/// `ET_FORALL_SCALAR_TYPES(X)` expands to `X(C++ type, name)` for every element type, in the order of their numbers.
#define ET_FORALL_SCALAR_TYPES(X)                                                      \
  X(uint8_t, Byte)                                                                     \
  X(int8_t, Char)                                                                      \
  X(int16_t, Short)                                                                    \
  X(int32_t, Int)                                                                      \
  X(int64_t, Long)                                                                     \
  X(::executorch::runtime::etensor::Half, Half)                                        \
  X(float, Float)                                                                      \
  X(double, Double)                                                                    \
  X(::executorch::runtime::etensor::complex<::executorch::runtime::etensor::Half>, ComplexHalf) \
  X(::executorch::runtime::etensor::complex<float>, ComplexFloat)                      \
  X(::executorch::runtime::etensor::complex<double>, ComplexDouble)                    \
  X(bool, Bool)                                                                        \
  X(::executorch::runtime::etensor::qint8, QInt8)                                      \
  X(::executorch::runtime::etensor::quint8, QUInt8)                                    \
  X(::executorch::runtime::etensor::qint32, QInt32)                                    \
  X(::executorch::runtime::etensor::BFloat16, BFloat16)                                \
  X(::executorch::runtime::etensor::quint4x2, QUInt4x2)                                \
  X(::executorch::runtime::etensor::quint2x4, QUInt2x4)                                \
  X(::executorch::runtime::etensor::bits1x8, Bits1x8)                                  \
  X(::executorch::runtime::etensor::bits2x4, Bits2x4)                                  \
  X(::executorch::runtime::etensor::bits4x2, Bits4x2)                                  \
  X(::executorch::runtime::etensor::bits8, Bits8)                                      \
  X(::executorch::runtime::etensor::bits16, Bits16)                                    \
  X(::executorch::runtime::etensor::unused_dtype::Float8_e5m2, Float8_e5m2)            \
  X(::executorch::runtime::etensor::unused_dtype::Float8_e4m3fn, Float8_e4m3fn)        \
  X(::executorch::runtime::etensor::unused_dtype::Float8_e5m2fnuz, Float8_e5m2fnuz)    \
  X(::executorch::runtime::etensor::unused_dtype::Float8_e4m3fnuz, Float8_e4m3fnuz)    \
  X(uint16_t, UInt16)                                                                  \
  X(uint32_t, UInt32)                                                                  \
  X(uint64_t, UInt64)

/// An element type; the numbers are PyTorch's.
enum class ScalarType : int8_t {
#define ET_INTERNAL_SCALAR_TYPE(type, name) name,
  ET_FORALL_SCALAR_TYPES(ET_INTERNAL_SCALAR_TYPE)
#undef ET_INTERNAL_SCALAR_TYPE
  /// None.
  Undefined,
  /// The number of element types, `Undefined` included; not one itself.
  NumOptions,
};

static_assert(static_cast<int>(ScalarType::Float) == ET_DTYPE_FLOAT32);
static_assert(static_cast<int>(ScalarType::Bool) == ET_DTYPE_BOOL);
static_assert(static_cast<int>(ScalarType::BFloat16) == ET_DTYPE_BFLOAT16);
static_assert(static_cast<int>(ScalarType::UInt64) == ET_DTYPE_UINT64);

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::ScalarType;
} // namespace executor
} // namespace torch
