/// \file
/// The planned buffers of a method, given by the caller.

#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// A list of buffers, one for each that the method's metadata asks for, in its order. It views the buffers and the
/// list, which must outlive it and the method.
class HierarchicalAllocator final {
 public:
  /// Host buffers, aligned to at least 16.
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) : buffers_(buffers) {}

  /// Buffers and the device that each lives on: as many devices as buffers.
  HierarchicalAllocator(Span<Span<uint8_t>> buffers, Span<const etensor::Device> planned_buffer_devices)
      : buffers_(buffers), devices_(planned_buffer_devices) {
    ET_CHECK_MSG(
        buffers.size() == planned_buffer_devices.size(), "%zu buffers, but devices for %zu", buffers.size(),
        planned_buffer_devices.size());
  }

  /// The buffers of `n_allocators` allocators, of which nothing must have been allocated; at most 16.
  HierarchicalAllocator(uint32_t n_allocators, MemoryAllocator* allocators) {
    ET_CHECK_MSG(n_allocators <= kSpanArraySize, "%u allocators, expected at most %zu", n_allocators, kSpanArraySize);
    for (uint32_t i = 0; i < n_allocators; ++i) {
      own_[i] = Span<uint8_t>(allocators[i].base_address(), allocators[i].size());
    }
    buffers_ = Span<Span<uint8_t>>(own_, n_allocators);
  }

  HierarchicalAllocator(const HierarchicalAllocator&) = delete;
  HierarchicalAllocator& operator=(const HierarchicalAllocator&) = delete;

  /// The address of `size_bytes` at `offset_bytes` of buffer `memory_id`; `Error::InvalidArgument` if there is no such
  /// buffer, `Error::MemoryAllocationFailed` if they do not fit it.
  ET_NODISCARD Result<void*> get_offset_address(uint32_t memory_id, size_t offset_bytes, size_t size_bytes) {
    ET_CHECK_OR_RETURN_ERROR(
        memory_id < buffers_.size(), InvalidArgument, "buffer %u, there are %zu", memory_id, buffers_.size());
    const Span<uint8_t> buffer = buffers_[memory_id];
    ET_CHECK_OR_RETURN_ERROR(
        offset_bytes <= buffer.size() && size_bytes <= buffer.size() - offset_bytes, MemoryAllocationFailed,
        "%zu bytes at offset %zu do not fit buffer %u of %zu bytes", size_bytes, offset_bytes, memory_id,
        buffer.size());
    return static_cast<void*>(buffer.data() + offset_bytes);
  }

  /// The device of each buffer; empty if all are host memory.
  Span<const etensor::Device> planned_buffer_devices() const {
    return devices_;
  }

  /// The buffers.
  Span<const Span<uint8_t>> buffers() const {
    return buffers_;
  }

 private:
  static constexpr size_t kSpanArraySize = 16;
  Span<uint8_t> own_[kSpanArraySize];
  Span<Span<uint8_t>> buffers_;
  Span<const etensor::Device> devices_;
};

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::HierarchicalAllocator;
} // namespace executor
} // namespace torch
