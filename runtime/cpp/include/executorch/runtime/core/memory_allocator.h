/// \file
/// Memory that a program gives to the runtime. The C side is executorch/c/memory.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <executorch/c/memory.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/// Hands out memory of one buffer from front to back, and frees all of it at once. Derive from it to allocate
/// elsewhere. Used by one thread at a time.
class MemoryAllocator {
 public:
  /// The alignment where none is asked for.
  static constexpr size_t kDefaultAlignment = alignof(void*);

  /// An allocator of `size` bytes at `base_address`, which the caller owns.
  MemoryAllocator(uint32_t size, uint8_t* base_address)
      : begin_(base_address), end_(base_address == nullptr ? nullptr : base_address + size), cursor_(base_address), size_(size) {}

  MemoryAllocator(const MemoryAllocator&) = delete;
  MemoryAllocator& operator=(const MemoryAllocator&) = delete;

  virtual ~MemoryAllocator() = default;

  /// `size` bytes aligned to `alignment`, a power of two; null if there is no room.
  virtual void* allocate(size_t size, size_t alignment = kDefaultAlignment) {
    if (!isPowerOf2(alignment)) {
      et_log(ET_LOG_ERROR, "the alignment of an allocation is no power of two");
      return nullptr;
    }
    const uintptr_t cursor = reinterpret_cast<uintptr_t>(cursor_);
    const size_t padding = static_cast<size_t>(-cursor & (alignment - 1));
    const size_t free = free_size();
    if (padding > free || size > free - padding) {
      return nullptr;
    }
    uint8_t* start = cursor_ + padding;
    cursor_ = start + size;
    return start;
  }

  /// Memory for one `T`, uninitialised; null if there is no room.
  template <typename T>
  T* allocateInstance(size_t alignment = alignof(T)) {
    return static_cast<T*>(this->allocate(sizeof(T), alignment));
  }

  /// Memory for `count` of `T`, uninitialised; null if there is no room.
  template <typename T>
  T* allocateList(size_t count, size_t alignment = alignof(T)) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) {
      return nullptr;
    }
    return static_cast<T*>(this->allocate(bytes, alignment));
  }

  /// The buffer; null in derived classes that have none.
  virtual uint8_t* base_address() const {
    return begin_;
  }

  /// The buffer's bytes.
  virtual uint32_t size() const {
    return size_;
  }

  /// Bytes handed out so far, padding included.
  virtual size_t used_size() const {
    return static_cast<size_t>(cursor_ - begin_);
  }

  /// Bytes that are left.
  virtual size_t free_size() const {
    return static_cast<size_t>(end_ - cursor_);
  }

  /// Frees all that was handed out.
  virtual void reset() {
    cursor_ = begin_;
  }

  /// Names the allocator in a profile. Does nothing unless a profiler runs.
  void enable_profiling(ET_UNUSED const char* name) {}

 protected:
  /// Whether exactly one bit is set.
  static constexpr bool isPowerOf2(size_t value) {
    return value != 0 && (value & (value - 1)) == 0;
  }

  /// `ptr` rounded up to `alignment`, a power of two.
  static uint8_t* alignPointer(void* ptr, size_t alignment) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(ptr);
    return reinterpret_cast<uint8_t*>((address + alignment - 1) & ~static_cast<uintptr_t>(alignment - 1));
  }

 private:
  uint8_t* begin_;
  uint8_t* end_;
  uint8_t* cursor_;
  uint32_t size_;
};

namespace internal {

/// An allocator as the C interface takes it. It borrows `allocator`.
inline et_allocator_t to_c(MemoryAllocator* allocator) {
  et_allocator_t table{};
  table.struct_size = sizeof table;
  table.user_data = allocator;
  table.allocate = [](void* self, size_t size, size_t alignment) {
    return static_cast<MemoryAllocator*>(self)->allocate(size, alignment);
  };
  table.reset = [](void* self) { static_cast<MemoryAllocator*>(self)->reset(); };
  return table;
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MemoryAllocator;
} // namespace executor
} // namespace torch

/// `ET_TRY_ALLOCATE_OR(allocator, bytes, …)`: the memory; the statements of the last argument run if there is none.
#define ET_TRY_ALLOCATE_OR(allocator__, nbytes__, ...)                       \
  __extension__({                                                            \
    void* et_memory__ = (allocator__)->allocate(nbytes__);                   \
    if (ET_UNLIKELY(et_memory__ == nullptr && (nbytes__) > 0)) {             \
      __VA_ARGS__                                                            \
    }                                                                        \
    et_memory__;                                                             \
  })

/// `ET_ALLOCATE_INSTANCE_OR_RETURN_ERROR(allocator, T)`: memory for one `T`, or a return from the enclosing function.
#define ET_ALLOCATE_INSTANCE_OR_RETURN_ERROR(allocator__, type__) \
  ET_ALLOCATE_LIST_OR_RETURN_ERROR(allocator__, type__, 1)

/// `ET_ALLOCATE_LIST_OR_RETURN_ERROR(allocator, T, n)`: memory for `n` of `T`, or a return from the enclosing function.
#define ET_ALLOCATE_LIST_OR_RETURN_ERROR(allocator__, type__, count__)                                           \
  __extension__({                                                                                                \
    type__* et_memory__ = (allocator__)->template allocateList<type__>(count__);                                 \
    if (ET_UNLIKELY(et_memory__ == nullptr && (count__) > 0)) {                                                  \
      return ::executorch::runtime::internal::fail(                                                              \
          ::executorch::runtime::Error::MemoryAllocationFailed, "no memory for %zu of " #type__,                 \
          static_cast<size_t>(count__));                                                                         \
    }                                                                                                            \
    et_memory__;                                                                                                 \
  })

/// `ET_ALLOCATE_OR_RETURN_ERROR(allocator, bytes)`: memory, or a return from the enclosing function.
#define ET_ALLOCATE_OR_RETURN_ERROR(allocator__, nbytes__)                                                       \
  __extension__({                                                                                                \
    void* et_memory__ = (allocator__)->allocate(nbytes__);                                                       \
    if (ET_UNLIKELY(et_memory__ == nullptr && (nbytes__) > 0)) {                                                 \
      return ::executorch::runtime::internal::fail(                                                              \
          ::executorch::runtime::Error::MemoryAllocationFailed, "no memory for %zu bytes",                       \
          static_cast<size_t>(nbytes__));                                                                        \
    }                                                                                                            \
    et_memory__;                                                                                                 \
  })
