/// \file
/// The record behind a tensor: element type, shape, and a pointer to data that somebody else owns.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/types.h>
#include <type_traits>

#include <executorch/c/tensor.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/portable_type/scalar_type.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_shape_dynamism.h>

#define ET_PRI_TENSOR_SIZE PRId32
#define ET_PRI_TENSOR_DIM ET_PRIssize_t
#define ET_PRI_TENSOR_NUMEL ET_PRIssize_t
#define ET_PRI_SIZES_AND_STRIDES PRId32

namespace executorch {
namespace runtime {
namespace etensor {

/// The product of `dim` sizes; `Error::InvalidArgument` if a size is negative or the product does not fit.
inline Result<ssize_t> safe_numel(const int32_t* sizes, ssize_t dim) {
  ET_CHECK_OR_RETURN_ERROR(
      dim >= 0 && dim <= ET_MAX_RANK, InvalidArgument, "rank %zd, expected 0 to %d", dim, ET_MAX_RANK);
  ET_CHECK_OR_RETURN_ERROR(dim == 0 || sizes != nullptr, InvalidArgument, "%s", "the sizes are null");
  ssize_t numel = 1;
  for (ssize_t i = 0; i < dim; ++i) {
    ET_CHECK_OR_RETURN_ERROR(sizes[i] >= 0, InvalidArgument, "size %zd is %d, expected at least 0", i, sizes[i]);
    ET_CHECK_OR_RETURN_ERROR(
        !__builtin_mul_overflow(numel, static_cast<ssize_t>(sizes[i]), &numel), InvalidArgument,
        "the product of %zd sizes does not fit 64 bits", dim);
  }
  return numel;
}

/// The product of `dim` sizes. Ends the process where `safe_numel` fails.
inline ssize_t compute_numel(const int32_t* sizes, ssize_t dim) {
  const Result<ssize_t> numel = safe_numel(sizes, dim);
  ET_CHECK_MSG(numel.ok(), "%s", "the sizes are not those of a tensor");
  return *numel;
}

/// An element type, a shape and a pointer to data. It owns none of what it points to: data, sizes, dim order and
/// strides must outlive it. Its first bytes are an `et_tensor_t`, so that it is handed to the runtime as it is.
/// Not synchronised.
class TensorImpl {
 public:
  using SizesType = int32_t;
  using DimOrderType = uint8_t;
  using StridesType = int32_t;

  TensorImpl() = delete;

  /// A tensor of `dim` sizes. `dim_order` null means the contiguous order; `strides` null means the dense ones (they
  /// are then kept inside). `data` must hold the whole tensor, whose size now is the bound of later resizes.
  /// Ends the process if the shape is none.
  TensorImpl(
      ScalarType type,
      ssize_t dim,
      SizesType* sizes,
      void* data = nullptr,
      DimOrderType* dim_order = nullptr,
      StridesType* strides = nullptr,
      TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC,
      DeviceType device_type = DeviceType::CPU,
      DeviceIndex device_index = 0)
      : c_{} {
    c_.data = data;
    c_.sizes = sizes;
    c_.dim_order = dim_order;
    c_.strides = strides;
    c_.numel = static_cast<uint64_t>(compute_numel(sizes, dim));
    c_.struct_size = sizeof(et_tensor_t);
    c_.rank = static_cast<uint8_t>(dim);
    c_.dtype = static_cast<et_dtype_t>(type);
    c_.dynamism = static_cast<et_dynamism_t>(dynamism);
    c_.device_type = static_cast<et_device_type_t>(device_type);
    c_.device_index = device_index;
    c_.capacity_bytes = c_.numel * et_dtype_size(c_.dtype);
    if (dim_order == nullptr) {
      for (uint8_t i = 0; i < ET_MAX_RANK; ++i) {
        own_dim_order_[i] = i;
      }
      c_.dim_order = own_dim_order_;
    }
    if (strides == nullptr) {
      c_.strides = own_strides_;
      const et_error_t error = et_tensor_dense_strides(c_.sizes, c_.dim_order, c_.rank, c_.strides);
      ET_CHECK_MSG(error == ET_OK, "%s", "sizes and dim order are not those of a tensor");
    }
  }

  /// A record of the same data; strides and dim order that were kept inside are copied.
  TensorImpl(const TensorImpl& other) : c_(other.c_) {
    keep_own(other);
  }

  /// As the copy constructor.
  TensorImpl& operator=(const TensorImpl& other) {
    if (this != &other) {
      c_ = other.c_;
      keep_own(other);
    }
    return *this;
  }

  /// The number of bytes of the elements.
  size_t nbytes() const {
    return static_cast<size_t>(c_.numel) * et_dtype_size(c_.dtype);
  }

  /// Size `dim`, which must be a dimension.
  ssize_t size(ssize_t dim) const {
    ET_CHECK_MSG(dim >= 0 && dim < this->dim(), "dimension %zd, rank %zd", dim, this->dim());
    return c_.sizes[dim];
  }

  /// The number of dimensions.
  ssize_t dim() const {
    return c_.rank;
  }

  /// The number of elements.
  ssize_t numel() const {
    return static_cast<ssize_t>(c_.numel);
  }

  ScalarType scalar_type() const {
    return static_cast<ScalarType>(c_.dtype);
  }

  ScalarType dtype() const {
    return scalar_type();
  }

  /// Bytes of one element.
  ssize_t element_size() const {
    return static_cast<ssize_t>(et_dtype_size(c_.dtype));
  }

  const ArrayRef<SizesType> sizes() const {
    return {c_.sizes, c_.rank};
  }

  /// Dimension numbers, outermost first.
  const ArrayRef<DimOrderType> dim_order() const {
    return {c_.dim_order, c_.rank};
  }

  /// Distances between neighbours, in elements.
  const ArrayRef<StridesType> strides() const {
    return {c_.strides, c_.rank};
  }

  TensorShapeDynamism shape_dynamism() const {
    return static_cast<TensorShapeDynamism>(c_.dynamism);
  }

  Device device() const {
    return {device_type(), device_index()};
  }

  DeviceType device_type() const {
    return static_cast<DeviceType>(c_.device_type);
  }

  DeviceIndex device_index() const {
    return c_.device_index;
  }

  /// The first element.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(c_.data);
  }

  /// The first element; null while no memory is bound.
  const void* data() const {
    return c_.data;
  }

  /// The first element.
  template <typename T>
  T* mutable_data() const {
    return static_cast<T*>(c_.data);
  }

  /// The first element; null while no memory is bound.
  void* mutable_data() const {
    return c_.data;
  }

  /// Points the tensor to other memory, which must hold the whole tensor.
  void set_data(void* data) {
    c_.data = data;
  }

  /// Changes the sizes, in the dim order that the tensor has. Ends the process if `internal_resize_contiguous` fails.
  void set_sizes_contiguous(ArrayRef<SizesType> new_sizes) {
    const Error error = internal_resize_contiguous(new_sizes);
    ET_CHECK_MSG(error == Error::Ok, "%s", "the tensor cannot take the new sizes");
  }

  /// Changes the sizes, in the dim order that the tensor has. `Error::NotSupported` if the tensor is static and a size
  /// differs or its memory is too small; `Error::InvalidArgument` for another rank. Unchanged on failure.
  ET_NODISCARD Error internal_resize_contiguous(ArrayRef<SizesType> new_sizes) {
    return runtime::internal::from_c(et_tensor_resize(&c_, new_sizes.data(), new_sizes.size()));
  }

  /// The record that the C interface takes.
  et_tensor_t* c_tensor() {
    return &c_;
  }

 private:
  void keep_own(const TensorImpl& other) {
    // A record that the runtime made has no memory behind its et_tensor_t: compare addresses before looking there.
    if (other.c_.strides == other.own_strides_) {
      std::memcpy(own_strides_, other.own_strides_, sizeof own_strides_);
      c_.strides = own_strides_;
    }
    if (other.c_.dim_order == other.own_dim_order_) {
      std::memcpy(own_dim_order_, other.own_dim_order_, sizeof own_dim_order_);
      c_.dim_order = own_dim_order_;
    }
  }

  et_tensor_t c_;
  StridesType own_strides_[ET_MAX_RANK];
  DimOrderType own_dim_order_[ET_MAX_RANK];
};

static_assert(std::is_standard_layout_v<TensorImpl>, "the runtime reads a TensorImpl as an et_tensor_t");

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::compute_numel;
using ::executorch::runtime::etensor::safe_numel;
using ::executorch::runtime::etensor::TensorImpl;
} // namespace executor
} // namespace torch
