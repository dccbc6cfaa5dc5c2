/// \file
/// What a kernel may ask for while it runs.

#pragma once

#include <cstddef>

#include <executorch/c/kernel.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Handed to a kernel while it runs. Valid during the call.
class KernelRuntimeContext {
 public:
  /// A context of its own, for calling kernels directly, as tests do. Memory comes from `temp_allocator`.
  explicit KernelRuntimeContext(EventTracer* event_tracer = nullptr, MemoryAllocator* temp_allocator = nullptr)
      : tracer_(event_tracer), temp_allocator_(temp_allocator) {}

  /// The context of a call that the runtime makes.
  explicit KernelRuntimeContext(et_kernel_context_t* context) : context_(context) {}

  /// Tells the runtime that the call failed; the kernel returns right after.
  void fail(Error error) {
    error_ = error;
  }

  /// What the kernel failed with; `Error::Ok` if it did not.
  ET_NODISCARD Error failure_state() const {
    return error_;
  }

  /// The tracer; null if there is none or the runtime calls the kernel (it traces the call itself).
  EventTracer* internal_event_tracer() {
    return tracer_;
  }

  /// `size` bytes for the rest of the call, aligned to `alignment`, a power of two. `Error::NotFound` if the context
  /// has no allocator, `Error::MemoryAllocationFailed` if there is no memory.
  Result<void*> allocate_temp(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment) {
    void* memory = nullptr;
    if (context_ != nullptr) {
      ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_kernel_context_allocate(context_, size, alignment, &memory)));
      return memory;
    }
    ET_CHECK_OR_RETURN_ERROR(temp_allocator_ != nullptr, NotFound, "%s", "the context has no temporary allocator");
    memory = temp_allocator_->allocate(size, alignment);
    ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed, "no temporary memory for %zu bytes", size);
    return memory;
  }

 private:
  et_kernel_context_t* context_ = nullptr;
  EventTracer* tracer_ = nullptr;
  MemoryAllocator* temp_allocator_ = nullptr;
  Error error_ = Error::Ok;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace executorch {
namespace aten {
using RuntimeContext = ::executorch::runtime::KernelRuntimeContext;
} // namespace aten
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::KernelRuntimeContext;
using RuntimeContext = ::executorch::runtime::KernelRuntimeContext;
} // namespace executor
} // namespace torch
