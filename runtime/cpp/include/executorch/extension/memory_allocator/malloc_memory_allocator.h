/// \file
/// An allocator over the system's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <executorch/extension/memory_allocator/memory_allocator_utils.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace executorch {
namespace extension {

/// Allocates with `malloc`; `reset` and destruction free everything. Used by one thread at a time.
class MallocMemoryAllocator : public executorch::runtime::MemoryAllocator {
 public:
  MallocMemoryAllocator() : MemoryAllocator(0, nullptr) {}

  ~MallocMemoryAllocator() override {
    MallocMemoryAllocator::reset();
  }

  /// `size` bytes aligned to `alignment`, a power of two; null if there is no memory.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    const runtime::Result<size_t> bytes = utils::get_aligned_size(size, alignment);
    if (!bytes.ok()) {
      return nullptr;
    }
    void* memory = std::malloc(*bytes);
    if (memory == nullptr) {
      return nullptr;
    }
    blocks_.push_back(memory);
    return alignPointer(memory, alignment);
  }

  /// Frees all that was allocated.
  void reset() override {
    for (void* block : blocks_) {
      std::free(block);
    }
    blocks_.clear();
  }

 private:
  std::vector<void*> blocks_;
};

} // namespace extension
} // namespace executorch
