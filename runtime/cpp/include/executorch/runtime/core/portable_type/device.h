/// \file
/// Where data lives.

#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/c/tensor.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// Kinds of memory.
enum class DeviceType : uint8_t {
  /// Host memory.
  CPU = ET_DEVICE_CPU,
  /// CUDA device memory.
  CUDA = ET_DEVICE_CUDA,
};

/// The number of device types.
inline constexpr size_t kNumDeviceTypes = 2;

/// Which device of a type.
using DeviceIndex = int8_t;

/// One device.
struct Device final {
  using Type = DeviceType;

  /// Device `index` of `type`.
  /* implicit */ constexpr Device(DeviceType type, DeviceIndex index = 0) : type_(type), index_(index) {}

  constexpr DeviceType type() const noexcept {
    return type_;
  }

  constexpr bool is_cpu() const noexcept {
    return type_ == DeviceType::CPU;
  }

  constexpr DeviceIndex index() const noexcept {
    return index_;
  }

  constexpr bool operator==(const Device& other) const noexcept {
    return type_ == other.type_ && index_ == other.index_;
  }

  constexpr bool operator!=(const Device& other) const noexcept {
    return !(*this == other);
  }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Device;
using ::executorch::runtime::etensor::DeviceIndex;
using ::executorch::runtime::etensor::DeviceType;
} // namespace executor
} // namespace torch
