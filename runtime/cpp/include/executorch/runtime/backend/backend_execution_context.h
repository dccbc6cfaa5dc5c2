/// \file
/// Handed to a backend while it runs.

#pragma once

#include <cstddef>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What a backend may use while it runs. Valid during the call.
class BackendExecutionContext final {
 public:
  explicit BackendExecutionContext(
      EventTracer* event_tracer = nullptr,
      MemoryAllocator* temp_allocator = nullptr,
      const char* method_name = nullptr)
      : event_tracer_(event_tracer), temp_allocator_(temp_allocator), method_name_(method_name) {}

  /// The tracer; null if the runtime traces the call itself.
  EventTracer* event_tracer() {
    return event_tracer_;
  }

  /// `size` bytes for the rest of the call, aligned to `alignment`, a power of two; null if there is no memory.
  void* allocate(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment) {
    return temp_allocator_ == nullptr ? nullptr : temp_allocator_->allocate(size, alignment);
  }

  /// Memory for the rest of the call.
  MemoryAllocator* get_temp_allocator() {
    return temp_allocator_;
  }

  /// The method that runs.
  const char* get_method_name() const {
    return method_name_;
  }

 private:
  EventTracer* event_tracer_;
  MemoryAllocator* temp_allocator_;
  const char* method_name_;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::BackendExecutionContext;
} // namespace executor
} // namespace torch
