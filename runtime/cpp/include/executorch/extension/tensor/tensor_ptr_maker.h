/// \file
/// Makers of tensors: over memory of the caller, filled, and random. As in tensor_ptr.h, arguments that do not fit each
/// other end the process.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>

namespace executorch {
namespace extension {

/// Collects what a tensor over memory of the caller is made of: `for_blob(data, sizes).type(…).make_tensor_ptr()`.
class TensorPtrMaker final {
 public:
  TensorPtrMaker(const TensorPtrMaker&) = delete;
  TensorPtrMaker& operator=(const TensorPtrMaker&) = delete;
  TensorPtrMaker(TensorPtrMaker&&) = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) = default;

  /// The element type; Float unless set.
  TensorPtrMaker&& type(executorch::aten::ScalarType type) {
    type_ = type;
    return std::move(*this);
  }

  /// Dimension numbers, outermost first; that of the strides, or contiguous, unless set.
  TensorPtrMaker&& dim_order(std::vector<executorch::aten::DimOrderType> dim_order) {
    dim_order_ = std::move(dim_order);
    return std::move(*this);
  }

  /// Strides in elements; dense unless set.
  TensorPtrMaker&& strides(std::vector<executorch::aten::StridesType> strides) {
    strides_ = std::move(strides);
    return std::move(*this);
  }

  /// How the shape may change; within the memory unless set.
  TensorPtrMaker&& dynamism(executorch::aten::TensorShapeDynamism dynamism) {
    dynamism_ = dynamism;
    return std::move(*this);
  }

  /// Called with the data at the end; nothing unless set.
  TensorPtrMaker&& deleter(std::function<void(void*)>&& deleter) {
    deleter_ = std::move(deleter);
    return std::move(*this);
  }

  /// Where the data lies; the host unless set.
  TensorPtrMaker&& device(executorch::aten::Device device) {
    device_ = device;
    return std::move(*this);
  }

  /// Makes the tensor and uses up the maker.
  TensorPtr make_tensor_ptr() && {
    return ::executorch::extension::make_tensor_ptr(
        std::move(sizes_), data_, std::move(dim_order_), std::move(strides_), type_, device_, dynamism_,
        std::move(deleter_));
  }

 private:
  TensorPtrMaker(void* data, std::vector<executorch::aten::SizesType> sizes, executorch::aten::ScalarType type)
      : sizes_(std::move(sizes)), data_(data), type_(type) {}

  friend TensorPtrMaker for_blob(
      void* data,
      std::vector<executorch::aten::SizesType> sizes,
      executorch::aten::ScalarType type);

  std::vector<executorch::aten::SizesType> sizes_;
  std::vector<executorch::aten::StridesType> strides_;
  std::vector<executorch::aten::DimOrderType> dim_order_;
  std::function<void(void*)> deleter_;
  void* data_;
  executorch::aten::ScalarType type_;
  executorch::aten::TensorShapeDynamism dynamism_ = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND;
  executorch::aten::Device device_ = executorch::aten::DeviceType::CPU;
};

/// Starts a tensor over `data`, which must hold the whole tensor and outlive it.
inline TensorPtrMaker for_blob(
    void* data,
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float) {
  return TensorPtrMaker(data, std::move(sizes), type);
}

/// A tensor over `data`, which must hold the whole tensor and outlive it.
inline TensorPtr from_blob(
    void* data,
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::Device device = executorch::aten::DeviceType::CPU,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type).device(device).dynamism(dynamism).make_tensor_ptr();
}

/// As above, with strides, which must be dense in some order of the dimensions.
inline TensorPtr from_blob(
    void* data,
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::Device device = executorch::aten::DeviceType::CPU,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .strides(std::move(strides))
      .device(device)
      .dynamism(dynamism)
      .make_tensor_ptr();
}

/// A tensor over `data`, which is given to `deleter` at the end.
inline TensorPtr from_blob(
    void* data,
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type,
    executorch::aten::Device device,
    std::function<void(void*)>&& deleter,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .device(device)
      .deleter(std::move(deleter))
      .dynamism(dynamism)
      .make_tensor_ptr();
}

/// As above, with strides, which must be dense in some order of the dimensions.
inline TensorPtr from_blob(
    void* data,
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type,
    executorch::aten::Device device,
    std::function<void(void*)>&& deleter,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .strides(std::move(strides))
      .device(device)
      .deleter(std::move(deleter))
      .dynamism(dynamism)
      .make_tensor_ptr();
}

/// A tensor that owns its memory, which is zero. Empty `strides` mean contiguous.
inline TensorPtr empty_strided(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  const ssize_t numel = executorch::aten::compute_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  size_t nbytes = 0;
  ET_CHECK_MSG(
      !__builtin_mul_overflow(static_cast<size_t>(numel), runtime::elementSize(type), &nbytes), "%zd elements", numel);
  return make_tensor_ptr(
      std::move(sizes), std::vector<uint8_t>(nbytes), {}, std::move(strides), type, dynamism);
}

/// A tensor that owns its memory, which is zero.
inline TensorPtr empty(
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return empty_strided(std::move(sizes), {}, type, dynamism);
}

namespace internal {

/// Sets every element of a tensor of numbers to what `next` returns.
template <typename Next>
void fill(const TensorPtr& tensor, Next&& next) {
  const auto count = static_cast<size_t>(tensor->numel());
  const bool known = runtime::internal::visit_number_type(tensor->scalar_type(), [&](auto example) {
    using To = decltype(example);
    To* out = tensor->mutable_data_ptr<To>();
    for (size_t i = 0; i < count; ++i) {
      out[i] = runtime::convert<To>(next());
    }
  });
  ET_CHECK_MSG(known, "a tensor of type %s cannot be filled", runtime::toString(tensor->scalar_type()));
}

/// The type of `other` unless another one is given.
inline executorch::aten::ScalarType like(const TensorPtr& other, executorch::aten::ScalarType type) {
  return type == executorch::aten::ScalarType::Undefined ? other->scalar_type() : type;
}

inline std::vector<executorch::aten::SizesType> sizes_of(const TensorPtr& other) {
  return {other->sizes().begin(), other->sizes().end()};
}

inline std::vector<executorch::aten::StridesType> strides_of(const TensorPtr& other) {
  return {other->strides().begin(), other->strides().end()};
}

} // namespace internal

/// As `empty`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr empty_like(
    const TensorPtr& other,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return empty_strided(internal::sizes_of(other), internal::strides_of(other), internal::like(other, type), dynamism);
}

/// A tensor that owns its elements, all `fill_value`. Empty `strides` mean contiguous.
inline TensorPtr full_strided(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::Scalar fill_value,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  if (fill_value.isFloatingPoint()) {
    internal::fill(tensor, [value = fill_value.to<double>()] { return value; });
  } else {
    internal::fill(tensor, [value = fill_value.to<int64_t>()] { return value; });
  }
  return tensor;
}

/// A tensor that owns its elements, all `fill_value`.
inline TensorPtr full(
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::Scalar fill_value,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(std::move(sizes), {}, fill_value, type, dynamism);
}

/// As `full`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr full_like(
    const TensorPtr& other,
    executorch::aten::Scalar fill_value,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_strided(
      internal::sizes_of(other), internal::strides_of(other), fill_value, internal::like(other, type), dynamism);
}

/// A tensor of rank 0.
inline TensorPtr scalar_tensor(
    executorch::aten::Scalar value,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float) {
  return full({}, value, type);
}

/// A tensor of ones.
inline TensorPtr ones(
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full(std::move(sizes), 1, type, dynamism);
}

/// As `ones`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr ones_like(
    const TensorPtr& other,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_like(other, 1, type, dynamism);
}

/// A tensor of zeros.
inline TensorPtr zeros(
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full(std::move(sizes), 0, type, dynamism);
}

/// As `zeros`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr zeros_like(
    const TensorPtr& other,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return full_like(other, 0, type, dynamism);
}

namespace internal {

/// This thread's source of random numbers, seeded by the system.
inline std::mt19937_64& random_source() {
  thread_local std::mt19937_64 source(std::random_device{}());
  return source;
}

/// A tensor whose elements are drawn from a distribution.
template <typename Distribution>
TensorPtr random_tensor(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type,
    executorch::aten::TensorShapeDynamism dynamism,
    Distribution distribution) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  fill(tensor, [&distribution, &source = random_source()] { return distribution(source); });
  return tensor;
}

} // namespace internal

/// A tensor of random numbers, uniform from 0 to below 1. Empty `strides` mean contiguous.
inline TensorPtr rand_strided(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::random_tensor(std::move(sizes), std::move(strides), type, dynamism, std::uniform_real_distribution<float>(0.0f, 1.0f));
}

/// A tensor of random numbers, uniform from 0 to below 1.
inline TensorPtr rand(
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return rand_strided(std::move(sizes), {}, type, dynamism);
}

/// As `rand`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr rand_like(
    const TensorPtr& other,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return rand_strided(
      internal::sizes_of(other), internal::strides_of(other), internal::like(other, type), dynamism);
}

/// A tensor of random numbers, normal with mean 0 and deviation 1. Empty `strides` mean contiguous.
inline TensorPtr randn_strided(
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return internal::random_tensor(std::move(sizes), std::move(strides), type, dynamism, std::normal_distribution<float>(0.0f, 1.0f));
}

/// A tensor of random numbers, normal with mean 0 and deviation 1.
inline TensorPtr randn(
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return randn_strided(std::move(sizes), {}, type, dynamism);
}

/// As `randn`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr randn_like(
    const TensorPtr& other,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return randn_strided(
      internal::sizes_of(other), internal::strides_of(other), internal::like(other, type), dynamism);
}

/// A tensor of random integers, uniform from `low` to below `high`. Empty `strides` mean contiguous.
inline TensorPtr randint_strided(
    int64_t low,
    int64_t high,
    std::vector<executorch::aten::SizesType> sizes,
    std::vector<executorch::aten::StridesType> strides,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Int,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  ET_CHECK_MSG(low < high, "the range from %" PRId64 " to below %" PRId64 " is empty", low, high);
  return internal::random_tensor(std::move(sizes), std::move(strides), type, dynamism, std::uniform_int_distribution<int64_t>(low, high - 1));
}

/// A tensor of random integers, uniform from `low` to below `high`.
inline TensorPtr randint(
    int64_t low,
    int64_t high,
    std::vector<executorch::aten::SizesType> sizes,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Int,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return randint_strided(low, high, std::move(sizes), {}, type, dynamism);
}

/// As `randint`, with the sizes and strides of `other`, and its type unless another one is given.
inline TensorPtr randint_like(
    const TensorPtr& other,
    int64_t low,
    int64_t high,
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Undefined,
    executorch::aten::TensorShapeDynamism dynamism = executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return randint_strided(
      low, high, internal::sizes_of(other), internal::strides_of(other), internal::like(other, type), dynamism);
}

} // namespace extension
} // namespace executorch
