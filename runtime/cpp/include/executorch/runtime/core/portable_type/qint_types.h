/// \file
/// Elements of quantized tensors; scale and zero point stand elsewhere.

#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace etensor {

/// A quantized signed 8-bit integer.
struct qint8 {
  using underlying = int8_t;
  int8_t val_ = 0;
  qint8() = default;
  explicit constexpr qint8(int8_t value) : val_(value) {}
};

/// A quantized unsigned 8-bit integer.
struct quint8 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  quint8() = default;
  explicit constexpr quint8(uint8_t value) : val_(value) {}
};

/// A quantized signed 32-bit integer.
struct qint32 {
  using underlying = int32_t;
  int32_t val_ = 0;
  qint32() = default;
  explicit constexpr qint32(int32_t value) : val_(value) {}
};

/// Two quantized unsigned 4-bit integers.
struct quint4x2 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  quint4x2() = default;
  explicit constexpr quint4x2(uint8_t value) : val_(value) {}
};

/// Four quantized unsigned 2-bit integers.
struct quint2x4 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  quint2x4() = default;
  explicit constexpr quint2x4(uint8_t value) : val_(value) {}
};

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::qint8;
using ::executorch::runtime::etensor::quint8;
using ::executorch::runtime::etensor::qint32;
using ::executorch::runtime::etensor::quint4x2;
using ::executorch::runtime::etensor::quint2x4;
} // namespace executor
} // namespace torch
