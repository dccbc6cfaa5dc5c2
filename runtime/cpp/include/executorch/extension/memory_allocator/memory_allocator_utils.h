/// \file
/// Arithmetic of allocators.

#pragma once

#include <cstddef>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace utils {

/// The bytes to allocate so that `size` bytes fit from the next multiple of `alignment` on. `Error::InvalidArgument` if
/// `alignment` is no power of two or the sum does not fit.
inline runtime::Result<size_t> get_aligned_size(size_t size, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(
      alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument, "alignment %zu is no power of two",
      alignment);
  // The system's own alignment needs no room.
  const size_t extra = alignment > alignof(std::max_align_t) ? alignment : 0;
  size_t sum = 0;
  ET_CHECK_OR_RETURN_ERROR(
      !__builtin_add_overflow(size, extra, &sum), InvalidArgument, "%zu bytes aligned to %zu do not fit", size,
      alignment);
  return sum;
}

} // namespace utils
} // namespace extension
} // namespace executorch
