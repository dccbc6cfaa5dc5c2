/// \file
/// Tensors that own their record and, if asked to, their data.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <executorch/c/device.h>
#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace executorch {
namespace extension {

/// A tensor that its owners share: the record lives as long as one of them. Pass it to `Module::forward` and wherever a
/// value or a tensor is expected (`*ptr`). Making one ends the process if shape, data and type do not fit each other:
/// they come from the program, not from input. Not synchronised.
using TensorPtr = std::shared_ptr<executorch::aten::Tensor>;

namespace internal {

/// A tensor's record with all that it points to.
class TensorStorage {
 public:
  TensorStorage(
      std::vector<executorch::aten::SizesType> sizes,
      void* data,
      std::vector<executorch::aten::DimOrderType> dim_order,
      const std::vector<executorch::aten::StridesType>& strides,
      executorch::aten::ScalarType type,
      executorch::aten::Device device,
      executorch::aten::TensorShapeDynamism dynamism,
      std::function<void(void*)> deleter)
      : sizes_(std::move(sizes)),
        dim_order_(complete_dim_order(sizes_, std::move(dim_order), strides)),
        strides_(complete_strides(sizes_, dim_order_, strides)),
        impl_(
            type,
            static_cast<ssize_t>(sizes_.size()),
            sizes_.data(),
            data,
            dim_order_.data(),
            strides_.data(),
            dynamism,
            device.type(),
            device.index()),
        tensor_(&impl_),
        data_(data),
        deleter_(std::move(deleter)) {}

  TensorStorage(const TensorStorage&) = delete;
  TensorStorage& operator=(const TensorStorage&) = delete;

  ~TensorStorage() {
    if (deleter_) {
      deleter_(data_);
    }
  }

  executorch::aten::Tensor* tensor() {
    return &tensor_;
  }

 private:
  using Sizes = std::vector<executorch::aten::SizesType>;
  using DimOrder = std::vector<executorch::aten::DimOrderType>;
  using Strides = std::vector<executorch::aten::StridesType>;

  /// The dim order; if it was not given, that of the strides, or the contiguous one.
  static DimOrder complete_dim_order(const Sizes& sizes, DimOrder dim_order, const Strides& strides) {
    const size_t rank = sizes.size();
    ET_CHECK_MSG(rank <= ET_MAX_RANK, "%zu sizes, expected at most %d", rank, ET_MAX_RANK);
    ET_CHECK_MSG(
        dim_order.empty() || dim_order.size() == rank, "%zu sizes, but a dim order of %zu", rank, dim_order.size());
    ET_CHECK_MSG(strides.empty() || strides.size() == rank, "%zu sizes, but %zu strides", rank, strides.size());
    if (!dim_order.empty()) {
      return dim_order;
    }
    dim_order.resize(rank);
    if (strides.empty()) {
      for (size_t i = 0; i < rank; ++i) {
        dim_order[i] = static_cast<executorch::aten::DimOrderType>(i);
      }
    } else {
      const auto error = runtime::stride_to_dim_order(strides.data(), rank, dim_order.data());
      ET_CHECK_MSG(error == runtime::Error::Ok, "%s", "the strides are not those of a tensor");
    }
    return dim_order;
  }

  /// The dense strides; those that were given must agree, except where a size is at most 1.
  static Strides complete_strides(const Sizes& sizes, const DimOrder& dim_order, const Strides& strides) {
    Strides dense(sizes.size());
    const et_error_t error = et_tensor_dense_strides(sizes.data(), dim_order.data(), sizes.size(), dense.data());
    ET_CHECK_MSG(error == ET_OK, "%s", "sizes and dim order are not those of a tensor");
    for (size_t i = 0; i < strides.size(); ++i) {
      ET_CHECK_MSG(
          sizes[i] <= 1 || strides[i] == dense[i], "stride %zu is %d, expected %d: the elements must be dense", i,
          strides[i], dense[i]);
    }
    return dense;
  }

  Sizes sizes_;
  DimOrder dim_order_;
  Strides strides_;
  executorch::aten::TensorImpl impl_;
  executorch::aten::Tensor tensor_;
  void* data_;
  std::function<void(void*)> deleter_;
};

/// The elements of a vector, converted, as bytes.
template <typename T>
std::vector<uint8_t> to_bytes(const std::vector<T>& data, executorch::aten::ScalarType type) {
  constexpr auto from = runtime::CppTypeToScalarType<T>::value;
  ET_CHECK_MSG(
      from == type || runtime::canCast(from, type), "elements of type %s cannot become %s", runtime::toString(from),
      runtime::toString(type));
  std::vector<uint8_t> bytes(data.size() * runtime::elementSize(type));
  const bool known = runtime::internal::visit_number_type(type, [&](auto to) {
    using To = decltype(to);
    To* out = reinterpret_cast<To*>(bytes.data());
    for (size_t i = 0; i < data.size(); ++i) {
      if constexpr (runtime::can_cast<T, To>::value) {
        out[i] = runtime::convert<To, T>(data[i]);
      }
    }
  });
  ET_CHECK_MSG(known, "elements of type %s cannot become %s", runtime::toString(from), runtime::toString(type));
  return bytes;
}

} // namespace internal

/// A tensor over `data`, which must hold the whole tensor and outlive it, or is given to `deleter` at the end.
///
/// An empty `dim_order` means that of `strides`, or the contiguous one; empty `strides` mean dense. Later resizes are
/// bounded by the size now.
inline TensorPtr make_tensor_ptr(
    std::vector<executorch::aten::SizesType> sizes,
    void* data,
    std::vector<executorch::aten::DimOrderType> dim_order,
    std::vector<executorch::aten::StridesType> strides,
    const executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::Device device = executorch::aten::DeviceType::CPU,
    const executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND,
    std::function<void(void*)> deleter = nullptr) {
  auto storage = std::make_shared<internal::TensorStorage>(
      std::move(sizes), data, std::move(dim_order), strides, type, device, dynamism, std::move(deleter));
  executorch::aten::Tensor* tensor = storage->tensor();
  return TensorPtr(std::move(storage), tensor);
}

/// As above, contiguous.
inline TensorPtr make_tensor_ptr(
    std::vector<executorch::aten::SizesType> sizes,
    void* data,
    const executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::Device device = executorch::aten::DeviceType::CPU,
    const executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND,
    std::function<void(void*)> deleter = nullptr) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, device, dynamism, std::move(deleter));
}

/// A tensor that owns the bytes of its elements.
inline TensorPtr make_tensor_ptr(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<uint8_t> data,
    std::vector<executorch::aten::DimOrderType> dim_order,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  const ssize_t numel = executorch::aten::compute_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  const size_t nbytes = static_cast<size_t>(numel) * runtime::elementSize(type);
  ET_CHECK_MSG(data.size() == nbytes, "%zu bytes of data, expected %zu", data.size(), nbytes);
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(data));
  void* bytes = owner->data();
  return make_tensor_ptr(
      std::move(sizes), bytes, std::move(dim_order), std::move(strides), type, executorch::aten::DeviceType::CPU,
      dynamism, [owner = std::move(owner)](void*) {});
}

/// As above, contiguous.
inline TensorPtr make_tensor_ptr(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<uint8_t> data,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}

/// A tensor that owns its elements, as many as the sizes say. `type` other than that of `T` converts them: booleans to
/// any number, integers to any number, floating-point numbers to each other.
template <
    typename T = float,
    executorch::aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<T> data,
    std::vector<executorch::aten::DimOrderType> dim_order = {},
    std::vector<executorch::aten::StridesType> strides = {},
    executorch::aten::ScalarType type = deduced_type,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  const ssize_t numel = executorch::aten::compute_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  ET_CHECK_MSG(data.size() == static_cast<size_t>(numel), "%zu elements of data, expected %zd", data.size(), numel);
  if constexpr (std::is_same_v<T, bool>) {
    // A vector of booleans is packed into bits.
    return make_tensor_ptr(
        std::move(sizes), internal::to_bytes(data, type), std::move(dim_order), std::move(strides), type, dynamism);
  } else {
    if (type != deduced_type) {
      return make_tensor_ptr(
          std::move(sizes), internal::to_bytes(data, type), std::move(dim_order), std::move(strides), type, dynamism);
    }
    auto owner = std::make_shared<std::vector<T>>(std::move(data));
    void* elements = owner->data();
    return make_tensor_ptr(
        std::move(sizes), elements, std::move(dim_order), std::move(strides), type, executorch::aten::DeviceType::CPU,
        dynamism, [owner = std::move(owner)](void*) {});
  }
}

/// As above, with one dimension.
template <
    typename T = float,
    executorch::aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::vector<T> data,
    executorch::aten::ScalarType type = deduced_type,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  std::vector<executorch::aten::SizesType> sizes{static_cast<executorch::aten::SizesType>(data.size())};
  return make_tensor_ptr<T, deduced_type>(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}

/// As above, from a list in braces.
template <
    typename T = float,
    executorch::aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::vector<executorch::aten::SizesType> sizes,
    std::initializer_list<T> list,
    std::vector<executorch::aten::DimOrderType> dim_order = {},
    std::vector<executorch::aten::StridesType> strides = {},
    executorch::aten::ScalarType type = deduced_type,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>(
      std::move(sizes), std::vector<T>(list), std::move(dim_order), std::move(strides), type, dynamism);
}

/// As above, with one dimension.
template <
    typename T = float,
    executorch::aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::initializer_list<T> list,
    executorch::aten::ScalarType type = deduced_type,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>(std::vector<T>(list), type, dynamism);
}

/// A tensor of rank 0 that owns its element.
template <typename T, executorch::aten::ScalarType = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(T value) {
  return make_tensor_ptr(std::vector<executorch::aten::SizesType>{}, std::vector<T>{value});
}

/// Another tensor over the data of `tensor`, which must outlive it, or is given to `deleter` at the end.
///
/// What is empty is taken from `tensor`, dim order and strides only if the sizes are the same. The elements must not be
/// more than those of `tensor`.
inline TensorPtr make_tensor_ptr(
    const executorch::aten::Tensor& tensor,
    std::vector<executorch::aten::SizesType> sizes = {},
    std::vector<executorch::aten::DimOrderType> dim_order = {},
    std::vector<executorch::aten::StridesType> strides = {},
    std::function<void(void*)> deleter = nullptr) {
  const std::vector<executorch::aten::SizesType> old_sizes(tensor.sizes().begin(), tensor.sizes().end());
  if (sizes.empty()) {
    sizes = old_sizes;
  }
  if (sizes == old_sizes && dim_order.empty() && strides.empty()) {
    dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
    strides.assign(tensor.strides().begin(), tensor.strides().end());
  }
  const ssize_t numel = executorch::aten::compute_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  ET_CHECK_MSG(numel <= tensor.numel(), "%zd elements, but the tensor has %zd", numel, tensor.numel());
  return make_tensor_ptr(
      std::move(sizes), tensor.mutable_data_ptr(), std::move(dim_order), std::move(strides), tensor.scalar_type(),
      tensor.device(), tensor.shape_dynamism(), std::move(deleter));
}

/// As above; the new tensor keeps the other one alive.
inline TensorPtr make_tensor_ptr(
    const TensorPtr& tensor_ptr,
    std::vector<executorch::aten::SizesType> sizes = {},
    std::vector<executorch::aten::DimOrderType> dim_order = {},
    std::vector<executorch::aten::StridesType> strides = {}) {
  return make_tensor_ptr(
      *tensor_ptr, std::move(sizes), std::move(dim_order), std::move(strides), [tensor_ptr](void*) {});
}

/// A copy of a host tensor, converted to `type` as far as `canCast` allows. It owns its data.
inline TensorPtr clone_tensor_ptr(const executorch::aten::Tensor& tensor, executorch::aten::ScalarType type) {
  std::vector<executorch::aten::SizesType> sizes(tensor.sizes().begin(), tensor.sizes().end());
  std::vector<executorch::aten::DimOrderType> dim_order(tensor.dim_order().begin(), tensor.dim_order().end());
  std::vector<executorch::aten::StridesType> strides(tensor.strides().begin(), tensor.strides().end());
  const executorch::aten::ScalarType from_type = tensor.scalar_type();
  ET_CHECK_MSG(tensor.device().is_cpu(), "%s", "the tensor lies on a device: use clone_tensor_ptr_to");
  const void* from = tensor.const_data_ptr();
  const auto count = static_cast<size_t>(tensor.numel());
  if (from == nullptr && count != 0) {
    // A tensor whose memory is not bound yet.
    ET_CHECK_MSG(type == from_type, "%s", "a tensor without data cannot be converted");
    return make_tensor_ptr(
        std::move(sizes), nullptr, std::move(dim_order), std::move(strides), type, executorch::aten::DeviceType::CPU,
        tensor.shape_dynamism());
  }
  std::vector<uint8_t> bytes(count * runtime::elementSize(type));
  if (type == from_type) {
    if (!bytes.empty()) {
      std::memcpy(bytes.data(), from, bytes.size());
    }
  } else {
    bool known = runtime::canCast(from_type, type);
    known = known && runtime::internal::visit_number_type(from_type, [&](auto source) {
      using From = decltype(source);
      known = runtime::internal::visit_number_type(type, [&](auto target) {
        using To = decltype(target);
        if constexpr (runtime::can_cast<From, To>::value) {
          const From* in = static_cast<const From*>(from);
          To* out = reinterpret_cast<To*>(bytes.data());
          for (size_t i = 0; i < count; ++i) {
            out[i] = runtime::convert<To, From>(in[i]);
          }
        }
      });
    }) && known;
    ET_CHECK_MSG(
        known, "elements of type %s cannot become %s", runtime::toString(from_type), runtime::toString(type));
  }
  return make_tensor_ptr(
      std::move(sizes), std::move(bytes), std::move(dim_order), std::move(strides), type, tensor.shape_dynamism());
}

/// A copy of a host tensor that owns its data.
inline TensorPtr clone_tensor_ptr(const executorch::aten::Tensor& tensor) {
  return clone_tensor_ptr(tensor, tensor.scalar_type());
}

/// As above.
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor, executorch::aten::ScalarType type) {
  return clone_tensor_ptr(*tensor, type);
}

/// As above.
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor) {
  return clone_tensor_ptr(*tensor);
}

/// Changes a tensor's sizes; the data stays. `Error::NotSupported` if the tensor is static or the new sizes need more
/// memory than it was made with; `Error::InvalidArgument` for another rank. Unchanged on failure.
ET_NODISCARD inline runtime::Error resize_tensor_ptr(
    TensorPtr& tensor,
    const std::vector<executorch::aten::SizesType>& sizes) {
  return runtime::resize_tensor(
      *tensor, executorch::aten::ArrayRef<executorch::aten::SizesType>(sizes.data(), sizes.size()));
}

/// A copy of a tensor on another device: one of the two must be the host. It owns its data. Ends the process if no
/// delegate registered an allocator for the device, or it has no memory.
inline TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, executorch::aten::Device target) {
  const executorch::aten::Device source = tensor->device();
  if (source.is_cpu() && target.is_cpu()) {
    return clone_tensor_ptr(tensor);
  }
  ET_CHECK_MSG(source.is_cpu() != target.is_cpu(), "%s", "one of the two devices must be the host");
  std::vector<executorch::aten::SizesType> sizes(tensor->sizes().begin(), tensor->sizes().end());
  std::vector<executorch::aten::DimOrderType> dim_order(tensor->dim_order().begin(), tensor->dim_order().end());
  std::vector<executorch::aten::StridesType> strides(tensor->strides().begin(), tensor->strides().end());
  const size_t nbytes = tensor->nbytes();
  auto copy_to = [&](void* memory) {
    const et_error_t error = et_device_copy(
        memory, static_cast<et_device_type_t>(target.type()), target.index(), tensor->const_data_ptr(),
        static_cast<et_device_type_t>(source.type()), source.index(), nbytes);
    ET_CHECK_MSG(error == ET_OK, "%s", et_last_error_message());
  };
  if (target.is_cpu()) {
    std::vector<uint8_t> bytes(nbytes);
    copy_to(bytes.data());
    return make_tensor_ptr(
        std::move(sizes), std::move(bytes), std::move(dim_order), std::move(strides), tensor->scalar_type(),
        tensor->shape_dynamism());
  }
  auto memory = runtime::DeviceMemoryBuffer::create(nbytes, target.type(), target.index(), alignof(std::max_align_t));
  ET_CHECK_MSG(memory.ok(), "%s", et_last_error_message());
  copy_to(memory->data());
  void* data = memory->data();
  auto owner = std::make_shared<runtime::DeviceMemoryBuffer>(std::move(*memory));
  return make_tensor_ptr(
      std::move(sizes), data, std::move(dim_order), std::move(strides), tensor->scalar_type(), target,
      tensor->shape_dynamism(), [owner = std::move(owner)](void*) {});
}

} // namespace extension
} // namespace executorch
