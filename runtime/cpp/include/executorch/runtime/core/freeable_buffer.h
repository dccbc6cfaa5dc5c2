/// \file
/// Bytes and how to give them back.

#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/c/loader.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/// Bytes that are given back when the buffer is destroyed or `Free` is called, whichever is first. Not synchronised.
class FreeableBuffer final {
 public:
  /// Gives the bytes back. `context` is what the buffer was made with.
  using FreeFn = void (*)(void* context, void* data, size_t size);
  /// As `FreeFn`, for a 64-bit address that may not fit a pointer.
  using FreeUInt64Fn = void (*)(void* context, uint64_t data, size_t size);

  /// No bytes.
  FreeableBuffer() = default;

  /// `size` bytes at `data`; `free_fn` may be null if nothing has to be done.
  FreeableBuffer(const void* data, size_t size, FreeFn free_fn, void* free_fn_context = nullptr)
      : free_fn_(free_fn), context_(free_fn_context), data_(reinterpret_cast<uintptr_t>(data)), size_(size) {}

  /// `size` bytes at a 64-bit address.
  explicit FreeableBuffer(
      uint64_t data_uint64,
      size_t size,
      FreeUInt64Fn free_fn,
      void* free_fn_context = nullptr)
      : free_uint64_fn_(free_fn), context_(free_fn_context), data_(data_uint64), size_(size), is_uint64_(true) {}

  /// Takes the other's bytes and leaves it empty.
  FreeableBuffer(FreeableBuffer&& other) noexcept
      : free_fn_(other.free_fn_),
        free_uint64_fn_(other.free_uint64_fn_),
        context_(other.context_),
        data_(other.data_),
        size_(other.size_),
        is_uint64_(other.is_uint64_) {
    other.forget();
  }

  FreeableBuffer(const FreeableBuffer&) = delete;
  FreeableBuffer& operator=(const FreeableBuffer&) = delete;
  FreeableBuffer& operator=(FreeableBuffer&&) = delete;

  ~FreeableBuffer() {
    Free();
  }

  /// Gives the bytes back now. Does nothing the second time.
  void Free() {
    const FreeFn free_fn = free_fn_;
    const FreeUInt64Fn free_uint64_fn = free_uint64_fn_;
    const uint64_t data = data_;
    const size_t size = size_;
    forget();
    if (free_fn != nullptr) {
      free_fn(context_, reinterpret_cast<void*>(static_cast<uintptr_t>(data)), size);
    } else if (free_uint64_fn != nullptr) {
      free_uint64_fn(context_, data, size);
    }
  }

  /// The number of bytes.
  size_t size() const {
    return size_;
  }

  /// The first byte; null when empty. Ends the process if the buffer was made with a 64-bit address.
  const void* data() const {
    ET_CHECK_MSG(!is_uint64_, "%s", "the buffer holds a 64-bit address: use data_uint64_type()");
    return reinterpret_cast<const void*>(static_cast<uintptr_t>(data_));
  }

  /// The first byte; `Error::InvalidType` if the buffer was made with a 64-bit address.
  Result<const void*> data_safe() const {
    ET_CHECK_OR_RETURN_ERROR(!is_uint64_, InvalidType, "%s", "the buffer holds a 64-bit address: use data_uint64_type()");
    return data();
  }

  /// The address; `Error::InvalidType` if the buffer was made with a pointer.
  Result<uint64_t> data_uint64_type() const {
    ET_CHECK_OR_RETURN_ERROR(is_uint64_, InvalidType, "%s", "the buffer holds a pointer: use data()");
    return data_;
  }

 private:
  void forget() {
    free_fn_ = nullptr;
    free_uint64_fn_ = nullptr;
    data_ = 0;
    size_ = 0;
  }

  FreeFn free_fn_ = nullptr;
  FreeUInt64Fn free_uint64_fn_ = nullptr;
  void* context_ = nullptr;
  uint64_t data_ = 0;
  size_t size_ = 0;
  bool is_uint64_ = false;
};

namespace internal {

/// Bytes of the C interface.
inline FreeableBuffer from_c(const et_buffer_t& buffer) {
  if (buffer.free == nullptr) {
    return FreeableBuffer(buffer.data, buffer.size, nullptr);
  }
  return FreeableBuffer(
      buffer.data, buffer.size,
      [](void* context, void* data, size_t size) {
        et_buffer_t* given = static_cast<et_buffer_t*>(context);
        given->free(given->context, data, size);
        delete given;
      },
      new et_buffer_t(buffer));
}

/// Hands bytes to the C interface, which gives them back.
inline et_buffer_t to_c(FreeableBuffer&& buffer) {
  const void* data = buffer.data();
  const size_t size = buffer.size();
  auto* owner = new FreeableBuffer(std::move(buffer));
  return {
      data, size, [](void* context, const void*, size_t) { delete static_cast<FreeableBuffer*>(context); }, owner};
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::FreeableBuffer;
} // namespace executor
} // namespace torch
