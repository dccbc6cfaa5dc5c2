/// \file
/// Memory of devices: allocators that delegates register, one for each type of device. The C side is
/// executorch/c/device.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <executorch/c/device.h>
#include <executorch/c/registration.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/// Allocates and copies memory of one type of device. Derive from it to bring a device. Its functions must be
/// thread-safe.
class DeviceAllocator {
 public:
  /// The alignment where none is asked for.
  static constexpr size_t kDefaultAlignment = MemoryAllocator::kDefaultAlignment;

  virtual ~DeviceAllocator() = default;

  /// `nbytes` bytes on device `index`, aligned to `alignment`, a power of two.
  virtual Result<void*> allocate(
      size_t nbytes,
      etensor::DeviceIndex index,
      size_t alignment = kDefaultAlignment) = 0;

  /// Frees what `allocate` gave for the same device.
  virtual void deallocate(void* ptr, etensor::DeviceIndex index) = 0;

  /// Copies from the host, after the work that was started before on this thread; complete on return.
  virtual Error copy_host_to_device(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) = 0;

  /// Copies to the host, after the work that was started before on this thread; complete on return.
  virtual Error copy_device_to_host(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) = 0;

  /// The type of device that it serves.
  virtual etensor::DeviceType device_type() const = 0;
};

namespace internal {

/// An allocator that another component registered.
class NativeDeviceAllocator final : public DeviceAllocator {
 public:
  explicit NativeDeviceAllocator(etensor::DeviceType type) : type_(type) {}

  Result<void*> allocate(size_t nbytes, etensor::DeviceIndex index, size_t alignment = kDefaultAlignment) override {
    void* data = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(from_c(et_device_allocate(type(), index, nbytes, alignment, &data)));
    return data;
  }

  void deallocate(void* ptr, etensor::DeviceIndex index) override {
    et_device_free(type(), index, ptr);
  }

  Error copy_host_to_device(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) override {
    return from_c(et_device_copy(dst, type(), index, src, ET_DEVICE_CPU, 0, nbytes));
  }

  Error copy_device_to_host(void* dst, const void* src, size_t nbytes, etensor::DeviceIndex index) override {
    return from_c(et_device_copy(dst, ET_DEVICE_CPU, 0, src, type(), index, nbytes));
  }

  etensor::DeviceType device_type() const override {
    return type_;
  }

 private:
  et_device_type_t type() const {
    return static_cast<et_device_type_t>(type_);
  }

  etensor::DeviceType type_;
};

/// An allocator in C++ as the C interface takes it.
class DeviceAllocatorBridge {
 public:
  static et_device_allocator_t table(DeviceAllocator* allocator) {
    et_device_allocator_t c{};
    // Copies on the device go through the host.
    c.struct_size = offsetof(et_device_allocator_t, copy_on_device);
    c.device_type = static_cast<et_device_type_t>(allocator->device_type());
    c.user_data = allocator;
    c.allocate = &allocate;
    c.deallocate = [](void* self, void* data, int8_t index) { of(self).deallocate(data, index); };
    c.copy_from_host = [](void* self, void* to, const void* from, size_t size, int8_t index) {
      return to_c(of(self).copy_host_to_device(to, from, size, index));
    };
    c.copy_to_host = [](void* self, void* to, const void* from, size_t size, int8_t index) {
      return to_c(of(self).copy_device_to_host(to, from, size, index));
    };
    return c;
  }

  /// The C++ allocator behind a table; null if it is not one.
  static DeviceAllocator* allocator_of(const et_device_allocator_t* table) {
    return table != nullptr && table->allocate == &allocate ? static_cast<DeviceAllocator*>(table->user_data) : nullptr;
  }

 private:
  static DeviceAllocator& of(void* self) {
    return *static_cast<DeviceAllocator*>(self);
  }

  static et_error_t allocate(void* self, size_t size, size_t alignment, int8_t index, void** out) {
    const Result<void*> data = of(self).allocate(size, index, alignment);
    if (!data.ok()) {
      return to_c(data.error());
    }
    *out = *data;
    return ET_OK;
  }
};

} // namespace internal

/// The allocators of the process, one for each type of device.
class DeviceAllocatorRegistry {
 public:
  /// The one registry.
  static DeviceAllocatorRegistry& instance() {
    static DeviceAllocatorRegistry registry;
    return registry;
  }

  DeviceAllocatorRegistry(const DeviceAllocatorRegistry&) = delete;
  DeviceAllocatorRegistry& operator=(const DeviceAllocatorRegistry&) = delete;

  /// Registers an allocator, which must live as long as the process. One that is refused, because its type of device has
  /// another one for example, is told by the next load and by `et_registration_error`. Never ends the process.
  void register_allocator(DeviceAllocator* alloc) {
    if (alloc == nullptr) {
      internal::fail(Error::InvalidArgument, "%s", "the device allocator to register is null");
      return;
    }
    if (internal::DeviceAllocatorBridge::allocator_of(find(alloc->device_type())) == alloc) {
      return;
    }
    et_registration_t registration{};
    registration.struct_size = sizeof registration;
    registration.abi_major = ET_ABI_MAJOR;
    registration.abi_minor = ET_ABI_MINOR;
    registration.component_name = "device allocator";
    registration.component_version = et_version();
    auto table = std::make_unique<et_device_allocator_t>(internal::DeviceAllocatorBridge::table(alloc));
    if (et_register_device_allocator(&registration, table.get()) == ET_OK) {
      // The registry keeps it as long as the process lives.
      table.release();
    }
  }

  /// The allocator of a type of device, in whatever language it is written; null if there is none.
  DeviceAllocator* get_allocator(etensor::DeviceType type) {
    const et_device_allocator_t* table = find(type);
    DeviceAllocator* own = internal::DeviceAllocatorBridge::allocator_of(table);
    if (own != nullptr || table == nullptr) {
      return own;
    }
    static internal::NativeDeviceAllocator cuda(etensor::DeviceType::CUDA);
    return type == etensor::DeviceType::CUDA ? &cuda : nullptr;
  }

 private:
  DeviceAllocatorRegistry() = default;

  static const et_device_allocator_t* find(etensor::DeviceType type) {
    return et_device_allocator_find(static_cast<et_device_type_t>(type));
  }
};

/// As `DeviceAllocatorRegistry::register_allocator`.
inline void register_device_allocator(DeviceAllocator* alloc) {
  DeviceAllocatorRegistry::instance().register_allocator(alloc);
}

/// As `DeviceAllocatorRegistry::get_allocator`.
inline DeviceAllocator* get_device_allocator(etensor::DeviceType type) {
  return DeviceAllocatorRegistry::instance().get_allocator(type);
}

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::DeviceAllocator;
using ::executorch::runtime::DeviceAllocatorRegistry;
using ::executorch::runtime::get_device_allocator;
using ::executorch::runtime::register_device_allocator;
} // namespace executor
} // namespace torch
