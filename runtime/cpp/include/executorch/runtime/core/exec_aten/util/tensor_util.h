/// \file
/// Resizing tensors.

#pragma once

#include <array>
#include <cstddef>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/// Changes a tensor's sizes, in its dim order. `Error::NotSupported` if it is static and a size differs, or the new
/// sizes need more memory than the tensor has; `Error::InvalidArgument` for another rank. Unchanged on failure.
ET_NODISCARD inline Error resize_tensor(
    executorch::aten::Tensor t,
    executorch::aten::ArrayRef<executorch::aten::SizesType> new_sizes) {
  return t.unsafeGetTensorImpl()->internal_resize_contiguous(new_sizes);
}

/// As above, from sizes of another integer type; `Error::InvalidArgument` if one does not fit.
template <
    typename T,
    std::enable_if_t<!std::is_same_v<T, executorch::aten::SizesType>, int> = 0>
ET_NODISCARD Error resize_tensor(executorch::aten::Tensor t, executorch::aten::ArrayRef<T> new_sizes) {
  std::array<executorch::aten::SizesType, kTensorDimensionLimit> sizes{};
  ET_CHECK_OR_RETURN_ERROR(
      new_sizes.size() <= sizes.size(), InvalidArgument, "%zu sizes, expected at most %zu", new_sizes.size(),
      sizes.size());
  for (size_t i = 0; i < new_sizes.size(); ++i) {
    sizes[i] = static_cast<executorch::aten::SizesType>(new_sizes[i]);
    ET_CHECK_OR_RETURN_ERROR(
        static_cast<T>(sizes[i]) == new_sizes[i], InvalidArgument, "size %zu does not fit 32 bits", i);
  }
  return resize_tensor(t, executorch::aten::ArrayRef<executorch::aten::SizesType>(sizes.data(), new_sizes.size()));
}

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::resize_tensor;
} // namespace executor
} // namespace torch
