/// \file
/// Opaque bits, one or several elements a byte.

#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace etensor {

/// Eight elements of one bit.
struct bits1x8 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  bits1x8() = default;
  explicit constexpr bits1x8(uint8_t value) : val_(value) {}
};

/// Four elements of two bits.
struct bits2x4 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  bits2x4() = default;
  explicit constexpr bits2x4(uint8_t value) : val_(value) {}
};

/// Two elements of four bits.
struct bits4x2 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  bits4x2() = default;
  explicit constexpr bits4x2(uint8_t value) : val_(value) {}
};

/// One element of eight bits.
struct bits8 {
  using underlying = uint8_t;
  uint8_t val_ = 0;
  bits8() = default;
  explicit constexpr bits8(uint8_t value) : val_(value) {}
};

/// One element of sixteen bits.
struct bits16 {
  using underlying = uint16_t;
  uint16_t val_ = 0;
  bits16() = default;
  explicit constexpr bits16(uint16_t value) : val_(value) {}
};

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::bits1x8;
using ::executorch::runtime::etensor::bits2x4;
using ::executorch::runtime::etensor::bits4x2;
using ::executorch::runtime::etensor::bits8;
using ::executorch::runtime::etensor::bits16;
} // namespace executor
} // namespace torch
