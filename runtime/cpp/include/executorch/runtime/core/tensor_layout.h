/// \file
/// The layout of a named tensor.

#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/c/data_map.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Sizes, dim order and element type of a tensor. It views what `create` was given, which must outlive it.
class TensorLayout final {
 public:
  TensorLayout() = delete;

  /// A layout. `Error::InvalidArgument` if sizes and dim order differ in length, a size is negative, the dim order is
  /// no permutation, the type has no size, or the bytes do not fit 64 bits.
  static Result<const TensorLayout> create(
      Span<const int32_t> sizes,
      Span<const uint8_t> dim_order,
      executorch::aten::ScalarType scalar_type) {
    ET_CHECK_OR_RETURN_ERROR(
        sizes.size() == dim_order.size(), InvalidArgument, "%zu sizes, but a dim order of %zu", sizes.size(),
        dim_order.size());
    ET_CHECK_OR_RETURN_ERROR(
        sizes.size() <= ET_MAX_RANK, InvalidArgument, "rank %zu, expected at most %d", sizes.size(), ET_MAX_RANK);
    int32_t strides[ET_MAX_RANK];
    ET_CHECK_OK_OR_RETURN_ERROR(
        internal::from_c(et_tensor_dense_strides(sizes.data(), dim_order.data(), sizes.size(), strides)));
    ET_ASSIGN_OR_RETURN(
        const ssize_t numel, executorch::aten::safe_numel(sizes.data(), static_cast<ssize_t>(sizes.size())));
    const size_t element = et_dtype_size(static_cast<et_dtype_t>(scalar_type));
    ET_CHECK_OR_RETURN_ERROR(
        element != 0, InvalidArgument, "%d is no element type", static_cast<int>(scalar_type));
    size_t nbytes = 0;
    ET_CHECK_OR_RETURN_ERROR(
        !__builtin_mul_overflow(static_cast<size_t>(numel), element, &nbytes), InvalidArgument,
        "%zd elements of %zu bytes do not fit 64 bits", numel, element);
    return TensorLayout(sizes, dim_order, scalar_type, nbytes);
  }

  Span<const int32_t> sizes() const {
    return sizes_;
  }

  /// Dimension numbers, outermost first.
  Span<const uint8_t> dim_order() const {
    return dim_order_;
  }

  executorch::aten::ScalarType scalar_type() const {
    return scalar_type_;
  }

  /// Bytes of the whole tensor.
  size_t nbytes() const {
    return nbytes_;
  }

 private:
  TensorLayout(
      Span<const int32_t> sizes,
      Span<const uint8_t> dim_order,
      executorch::aten::ScalarType scalar_type,
      size_t nbytes)
      : sizes_(sizes), dim_order_(dim_order), scalar_type_(scalar_type), nbytes_(nbytes) {}

  Span<const int32_t> sizes_;
  Span<const uint8_t> dim_order_;
  executorch::aten::ScalarType scalar_type_;
  size_t nbytes_;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch
