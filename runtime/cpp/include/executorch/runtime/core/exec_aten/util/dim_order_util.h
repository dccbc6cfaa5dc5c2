/// \file
/// Dim orders (dimension numbers, outermost first) and strides.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch {
namespace runtime {

/// Whether `dim_order` is a permutation of 0…dims-1.
template <typename DimOrderType>
bool validate_dim_order(const DimOrderType* dim_order, const size_t dims) {
  if (dims > kTensorDimensionLimit) {
    return false;
  }
  uint32_t seen = 0;
  for (size_t i = 0; i < dims; ++i) {
    const auto dim = static_cast<size_t>(dim_order[i]);
    if (dim >= dims || (seen >> dim & 1) != 0) {
      return false;
    }
    seen |= uint32_t{1} << dim;
  }
  return true;
}

/// Whether it is 0, 1, 2, …
template <typename DimOrderType>
bool is_contiguous_dim_order(const DimOrderType* dim_order, const size_t dims) {
  for (size_t i = 0; i < dims; ++i) {
    if (static_cast<size_t>(dim_order[i]) != i) {
      return false;
    }
  }
  return true;
}

/// Whether it is that of images with the channels innermost: 0, 2, 3, 1 or 0, 2, 3, 4, 1.
template <typename DimOrderType>
bool is_channels_last_dim_order(const DimOrderType* dim_order, const size_t dims) {
  if (dims != 4 && dims != 5) {
    return false;
  }
  for (size_t i = 0; i < dims; ++i) {
    const size_t expected = i == 0 ? 0 : i + 1 == dims ? 1 : i + 1;
    if (static_cast<size_t>(dim_order[i]) != expected) {
      return false;
    }
  }
  return true;
}

/// Writes the dense strides of `sizes` in `dim_order`, which must be a permutation. A size of 0 counts as 1.
template <typename SizesType, typename DimOrderType, typename StridesType>
void dim_order_to_stride_nocheck(
    const SizesType* sizes,
    const DimOrderType* dim_order,
    const size_t dims,
    StridesType* strides) {
  StridesType next = 1;
  for (size_t i = dims; i-- > 0;) {
    const auto dim = static_cast<size_t>(dim_order[i]);
    strides[dim] = next;
    next *= static_cast<StridesType>(sizes[dim] == 0 ? 1 : sizes[dim]);
  }
}

/// As `dim_order_to_stride_nocheck`; `Error::InvalidArgument` if `dim_order` is no permutation.
template <typename SizesType, typename DimOrderType, typename StridesType>
ET_NODISCARD Error dim_order_to_stride(
    const SizesType* sizes,
    const DimOrderType* dim_order,
    const size_t dims,
    StridesType* strides) {
  ET_CHECK_OR_RETURN_ERROR(
      validate_dim_order(dim_order, dims), InvalidArgument, "the dim order is no permutation of %zu dimensions", dims);
  dim_order_to_stride_nocheck(sizes, dim_order, dims, strides);
  return Error::Ok;
}

/// Writes the dim order of dense `strides`: by falling stride, equal ones in the order of the dimensions.
/// `Error::InvalidArgument` if a stride is 0 or there are too many dimensions.
template <typename StridesType, typename DimOrderType>
ET_NODISCARD Error stride_to_dim_order(const StridesType* strides, const size_t dims, DimOrderType* dim_order) {
  ET_CHECK_OR_RETURN_ERROR(
      dims <= kTensorDimensionLimit, InvalidArgument, "%zu dimensions, expected at most %zu", dims,
      kTensorDimensionLimit);
  for (size_t i = 0; i < dims; ++i) {
    ET_CHECK_OR_RETURN_ERROR(strides[i] != 0, InvalidArgument, "the stride of dimension %zu is 0", i);
    dim_order[i] = static_cast<DimOrderType>(i);
  }
  // Insertion sort: stable, and the ranks are small.
  for (size_t i = 1; i < dims; ++i) {
    for (size_t j = i; j > 0 && strides[dim_order[j - 1]] < strides[dim_order[j]]; --j) {
      std::swap(dim_order[j - 1], dim_order[j]);
    }
  }
  return Error::Ok;
}

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::dim_order_to_stride;
using ::executorch::runtime::dim_order_to_stride_nocheck;
using ::executorch::runtime::is_channels_last_dim_order;
using ::executorch::runtime::is_contiguous_dim_order;
using ::executorch::runtime::stride_to_dim_order;
using ::executorch::runtime::validate_dim_order;
} // namespace executor
} // namespace torch
