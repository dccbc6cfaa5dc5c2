/// \file
/// Elements of a tensor by their coordinates.

#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace internal {

/// What accessors of every rank share.
template <typename T, ssize_t N>
class TensorAccessorBase {
 public:
  /// Size `i`; negative counts from the end.
  executorch::aten::SizesType size(ssize_t i) const {
    return sizes_[check(i)];
  }

  /// Stride `i` in elements; negative counts from the end.
  executorch::aten::StridesType stride(ssize_t i) const {
    return strides_[check(i)];
  }

 protected:
  TensorAccessorBase(
      T* data,
      const executorch::aten::SizesType* sizes,
      const executorch::aten::StridesType* strides,
      ssize_t dim)
      : data_(data), sizes_(sizes), strides_(strides), dim_(dim) {}

  T* data_;
  const executorch::aten::SizesType* sizes_;
  const executorch::aten::StridesType* strides_;
  ssize_t dim_;

 private:
  ssize_t check(ssize_t i) const {
    ET_CHECK_MSG(i >= -dim_ && i < dim_, "dimension %zd, rank %zd", i, dim_);
    return i < 0 ? i + dim_ : i;
  }
};

} // namespace internal

template <typename T, ssize_t N>
class TensorAccessor;

/// The elements of a tensor: `accessor[i][j]…`. It views the tensor and keeps the shape that it had. Coordinates are
/// not checked.
template <typename T, ssize_t N>
class TensorAccessor : public internal::TensorAccessorBase<T, N> {
 public:
  /// Row `i`.
  TensorAccessor<T, N - 1> operator[](ssize_t i) {
    return {this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1, this->dim_ - 1};
  }

  /// Row `i`.
  const TensorAccessor<T, N - 1> operator[](ssize_t i) const {
    return {this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1, this->dim_ - 1};
  }

 private:
  TensorAccessor(
      T* data,
      const executorch::aten::SizesType* sizes,
      const executorch::aten::StridesType* strides,
      ssize_t dim)
      : internal::TensorAccessorBase<T, N>(data, sizes, strides, dim) {}

  template <typename T2, ssize_t N2>
  friend class TensorAccessor;
  template <typename T2, ssize_t N2>
  friend executorch::runtime::Result<TensorAccessor<T2, N2>> make_tensor_accessor(
      const executorch::aten::Tensor& tensor);
};

/// The elements of a tensor of one dimension.
template <typename T>
class TensorAccessor<T, 1> : public internal::TensorAccessorBase<T, 1> {
 public:
  /// Element `i`.
  T& operator[](ssize_t i) {
    return this->data_[this->strides_[0] * i];
  }

  /// Element `i`.
  const T& operator[](ssize_t i) const {
    return this->data_[this->strides_[0] * i];
  }

 private:
  TensorAccessor(
      T* data,
      const executorch::aten::SizesType* sizes,
      const executorch::aten::StridesType* strides,
      ssize_t dim)
      : internal::TensorAccessorBase<T, 1>(data, sizes, strides, dim) {}

  template <typename T2, ssize_t N2>
  friend class TensorAccessor;
  template <typename T2, ssize_t N2>
  friend executorch::runtime::Result<TensorAccessor<T2, N2>> make_tensor_accessor(
      const executorch::aten::Tensor& tensor);
};

/// An accessor of a tensor of `N` dimensions whose elements are `T` (or `const T`). `Error::InvalidArgument` if the
/// tensor has another rank or element type, or no data.
template <typename T, ssize_t N>
executorch::runtime::Result<TensorAccessor<T, N>> make_tensor_accessor(const executorch::aten::Tensor& tensor) {
  static_assert(N > 0, "a tensor of rank 0 has one element: use const_data_ptr");
  ET_CHECK_OR_RETURN_ERROR(
      N == tensor.dim(), InvalidArgument, "the tensor has rank %zd, expected %zd", tensor.dim(), N);
  constexpr auto type = executorch::runtime::CppTypeToScalarType<std::remove_const_t<T>>::value;
  ET_CHECK_OR_RETURN_ERROR(
      tensor.scalar_type() == type, InvalidArgument, "the tensor is of type %s, expected %s",
      executorch::runtime::toString(tensor.scalar_type()), executorch::runtime::toString(type));
  T* data = tensor.template mutable_data_ptr<std::remove_const_t<T>>();
  ET_CHECK_OR_RETURN_ERROR(
      data != nullptr || tensor.numel() == 0, InvalidArgument, "%s", "the tensor has no memory yet");
  return TensorAccessor<T, N>(data, tensor.sizes().data(), tensor.strides().data(), N);
}

} // namespace extension
} // namespace executorch
