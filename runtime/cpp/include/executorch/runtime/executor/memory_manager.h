/// \file
/// The memory of one method, given by the caller.

#pragma once

#include <memory>
#include <vector>

#include <executorch/c/memory.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// The allocators that a method uses. It borrows them: they must outlive the method. What is null, the runtime
/// allocates itself.
class MemoryManager final {
 public:
  /// `method_allocator`: what lives as long as the method (the runtime keeps its own records elsewhere; delegates use
  /// it). `planned_memory`: the planned buffers. `temp_allocator`: memory of one instruction, reset after each; must
  /// not be the method allocator.
  explicit MemoryManager(
      MemoryAllocator* method_allocator,
      HierarchicalAllocator* planned_memory = nullptr,
      MemoryAllocator* temp_allocator = nullptr)
      : method_allocator_(method_allocator), planned_memory_(planned_memory), temp_allocator_(temp_allocator) {
    ET_CHECK_MSG(
        method_allocator == nullptr || method_allocator != temp_allocator, "%s",
        "method and temporary allocator are the same");
  }

  /// The older form; `constant_allocator` is not used.
  MemoryManager(
      MemoryAllocator* /*constant_allocator*/,
      HierarchicalAllocator* non_constant_allocator,
      MemoryAllocator* runtime_allocator,
      MemoryAllocator* temporary_allocator)
      : MemoryManager(runtime_allocator, non_constant_allocator, temporary_allocator) {}

  MemoryAllocator* method_allocator() const {
    return method_allocator_;
  }

  HierarchicalAllocator* planned_memory() const {
    return planned_memory_;
  }

  MemoryAllocator* temp_allocator() const {
    return temp_allocator_;
  }

  /// The device of each planned buffer; empty if all are host memory.
  Span<const etensor::Device> planned_buffer_devices() const {
    return planned_memory_ == nullptr ? Span<const etensor::Device>() : planned_memory_->planned_buffer_devices();
  }

  /// Whether a planned buffer lies on a device.
  bool has_device_memory() const {
    for (const etensor::Device& device : planned_buffer_devices()) {
      if (!device.is_cpu()) {
        return true;
      }
    }
    return false;
  }

 private:
  MemoryAllocator* method_allocator_;
  HierarchicalAllocator* planned_memory_;
  MemoryAllocator* temp_allocator_;
};

namespace internal {

/// A memory manager as the C interface takes it; must keep its address while a method uses it.
class MemoryBridge {
 public:
  explicit MemoryBridge(const MemoryManager& manager) {
    table_.struct_size = sizeof table_;
    if (manager.method_allocator() != nullptr) {
      method_ = to_c(manager.method_allocator());
      table_.method_allocator = &method_;
    }
    if (manager.temp_allocator() != nullptr) {
      temp_ = to_c(manager.temp_allocator());
      table_.temp_allocator = &temp_;
    }
    if (manager.planned_memory() != nullptr) {
      const Span<const Span<uint8_t>> buffers = manager.planned_memory()->buffers();
      const Span<const etensor::Device> devices = manager.planned_buffer_devices();
      for (size_t i = 0; i < buffers.size(); ++i) {
        const etensor::Device device = i < devices.size() ? devices[i] : etensor::Device(etensor::DeviceType::CPU);
        arenas_.push_back(
            {buffers[i].data(), buffers[i].size(), static_cast<et_device_type_t>(device.type()), device.index(), {}});
      }
      table_.planned = arenas_.data();
      table_.planned_count = arenas_.size();
    }
  }

  MemoryBridge(const MemoryBridge&) = delete;
  MemoryBridge& operator=(const MemoryBridge&) = delete;

  const et_memory_manager_t* c_memory() const {
    return &table_;
  }

 private:
  et_allocator_t method_{};
  et_allocator_t temp_{};
  std::vector<et_arena_t> arenas_;
  et_memory_manager_t table_{};
};

} // namespace internal
} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MemoryManager;
} // namespace executor
} // namespace torch
