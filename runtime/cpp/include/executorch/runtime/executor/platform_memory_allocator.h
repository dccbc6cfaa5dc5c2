/// \file
/// An allocator over the platform layer's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Allocates with `pal_allocate`; `reset` and destruction free everything. Used by one thread at a time.
class PlatformMemoryAllocator final : public MemoryAllocator {
 public:
  PlatformMemoryAllocator() : MemoryAllocator(0, nullptr) {}

  ~PlatformMemoryAllocator() override {
    PlatformMemoryAllocator::reset();
  }

  /// `size` bytes aligned to `alignment`, a power of two; null if there is no memory.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    size_t bytes = 0;
    if (!isPowerOf2(alignment) || __builtin_add_overflow(size, alignment, &bytes)) {
      return nullptr;
    }
    void* block = pal_allocate(bytes);
    if (block == nullptr) {
      return nullptr;
    }
    blocks_.push_back(block);
    return alignPointer(block, alignment);
  }

  /// Frees all that was allocated.
  void reset() override {
    for (void* block : blocks_) {
      pal_free(block);
    }
    blocks_.clear();
  }

 private:
  std::vector<void*> blocks_;
};

/// An allocator of the C interface, which it borrows.
class NativeAllocator final : public MemoryAllocator {
 public:
  explicit NativeAllocator(const et_allocator_t* table) : MemoryAllocator(0, nullptr), table_(table) {}

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    return table_->allocate(table_->user_data, size, alignment);
  }

  void reset() override {
    if (table_->reset != nullptr) {
      table_->reset(table_->user_data);
    }
  }

 private:
  const et_allocator_t* table_;
};

} // namespace internal
} // namespace runtime
} // namespace executorch
