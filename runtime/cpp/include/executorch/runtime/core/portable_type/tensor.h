/// \file
/// A handle of a tensor.

#pragma once

#include <executorch/runtime/core/portable_type/tensor_impl.h>

namespace executorch {
namespace runtime {
namespace etensor {

/// A handle of a `TensorImpl`, which must outlive it: one pointer, copied freely. It owns neither the record nor the
/// data; see `executorch::extension::TensorPtr` for tensors that do.
class Tensor {
 public:
  using SizesType = TensorImpl::SizesType;
  using DimOrderType = TensorImpl::DimOrderType;
  using StridesType = TensorImpl::StridesType;

  Tensor() = delete;

  /// A handle of `impl`, which must not be null where it is used.
  explicit constexpr Tensor(TensorImpl* impl) : impl_(impl) {}

  TensorImpl* unsafeGetTensorImpl() const {
    return impl_;
  }

  /// The number of bytes of the elements.
  size_t nbytes() const {
    return impl_->nbytes();
  }

  /// Size `dim`, which must be a dimension.
  ssize_t size(ssize_t dim) const {
    return impl_->size(dim);
  }

  /// The number of dimensions.
  ssize_t dim() const {
    return impl_->dim();
  }

  /// The number of elements.
  ssize_t numel() const {
    return impl_->numel();
  }

  ScalarType scalar_type() const {
    return impl_->scalar_type();
  }

  ScalarType dtype() const {
    return impl_->scalar_type();
  }

  /// Bytes of one element.
  ssize_t element_size() const {
    return impl_->element_size();
  }

  const ArrayRef<SizesType> sizes() const {
    return impl_->sizes();
  }

  /// Dimension numbers, outermost first.
  const ArrayRef<DimOrderType> dim_order() const {
    return impl_->dim_order();
  }

  /// Distances between neighbours, in elements.
  const ArrayRef<StridesType> strides() const {
    return impl_->strides();
  }

  TensorShapeDynamism shape_dynamism() const {
    return impl_->shape_dynamism();
  }

  Device device() const {
    return impl_->device();
  }

  DeviceType device_type() const {
    return impl_->device_type();
  }

  DeviceIndex device_index() const {
    return impl_->device_index();
  }

  /// The elements as `T`, which must be the type that `scalar_type()` stands for.
  template <typename T>
  const T* const_data_ptr() const {
    return impl_->data<T>();
  }

  /// The elements; null while no memory is bound.
  const void* const_data_ptr() const {
    return impl_->data();
  }

  /// The elements as `T`, which must be the type that `scalar_type()` stands for.
  template <typename T>
  T* mutable_data_ptr() const {
    return impl_->mutable_data<T>();
  }

  /// The elements; null while no memory is bound.
  void* mutable_data_ptr() const {
    return impl_->mutable_data();
  }

  /// As `mutable_data_ptr`.
  template <typename T>
  T* data_ptr() const {
    return impl_->mutable_data<T>();
  }

  /// As `mutable_data_ptr`.
  void* data_ptr() const {
    return impl_->mutable_data();
  }

  /// Points the tensor to other memory, which must hold the whole tensor.
  void set_data(void* data) const {
    impl_->set_data(data);
  }

 private:
  TensorImpl* impl_;
};

static_assert(sizeof(Tensor) == sizeof(et_tensor_t*), "a list of tensors is a list of et_tensor_t pointers");

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Tensor;
} // namespace executor
} // namespace torch
