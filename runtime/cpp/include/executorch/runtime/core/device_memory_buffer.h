/// \file
/// Memory of a device that is freed with its owner.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <executorch/c/device.h>
#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Memory of a device. It is freed when its owner is destroyed; moving it moves the memory.
class DeviceMemoryBuffer final {
 public:
  /// `size` bytes on a device, aligned to `alignment`, a power of two. `Error::NotFound` if nothing registered an
  /// allocator for the type of device: the message says what brings it.
  static Result<DeviceMemoryBuffer> create(
      size_t size,
      etensor::DeviceType type,
      etensor::DeviceIndex index = 0,
      size_t alignment = DeviceAllocator::kDefaultAlignment) {
    void* data = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(
        internal::from_c(et_device_allocate(static_cast<et_device_type_t>(type), index, size, alignment, &data)));
    return DeviceMemoryBuffer(data, size, etensor::Device(type, index));
  }

  /// No memory.
  DeviceMemoryBuffer() = default;

  /// Takes the other's memory and leaves it none.
  DeviceMemoryBuffer(DeviceMemoryBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), device_(other.device_) {}

  /// As above; what it had is freed.
  DeviceMemoryBuffer& operator=(DeviceMemoryBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(device_, other.device_);
    if (this != &other) {
      other.free();
    }
    return *this;
  }

  DeviceMemoryBuffer(const DeviceMemoryBuffer&) = delete;
  DeviceMemoryBuffer& operator=(const DeviceMemoryBuffer&) = delete;

  ~DeviceMemoryBuffer() {
    free();
  }

  /// The address of the first byte, on the device; null if there is none.
  void* data() const {
    return data_;
  }

  /// The number of bytes.
  size_t size() const {
    return size_;
  }

  /// Where it lies.
  etensor::Device device() const {
    return device_;
  }

  /// The memory as `HierarchicalAllocator` takes it. The host cannot read or write through it.
  Span<uint8_t> as_span() const {
    return {static_cast<uint8_t*>(data_), size_};
  }

 private:
  DeviceMemoryBuffer(void* data, size_t size, etensor::Device device) : data_(data), size_(size), device_(device) {}

  void free() {
    et_device_free(static_cast<et_device_type_t>(device_.type()), device_.index(), data_);
    data_ = nullptr;
    size_ = 0;
  }

  void* data_ = nullptr;
  size_t size_ = 0;
  etensor::Device device_{etensor::DeviceType::CPU};
};

} // namespace runtime
} // namespace executorch
