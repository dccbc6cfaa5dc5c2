/// \file
/// Values: what methods, kernels and delegates take and give. The C side is executorch/c/value.h.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <executorch/c/value.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tag.h>

namespace executorch {
namespace runtime {

struct EValue;

/// A list whose items are values elsewhere. It views both arrays, which must outlive it and the values made of it.
template <typename T>
class BoxedEvalueList {
 public:
  BoxedEvalueList() = default;

  /// The items are those of `wrapped_vals` (`size` pointers); `unwrapped_vals` has room for as many.
  BoxedEvalueList(EValue** wrapped_vals, T* unwrapped_vals, int size)
      : wrapped_(wrapped_vals, check_size(wrapped_vals, unwrapped_vals, size)), unwrapped_(unwrapped_vals) {}

  /// The items now. Ends the process if one has another type.
  executorch::aten::ArrayRef<T> get() const;

  /// The items now; `Error::InvalidType` if one has another type, `Error::InvalidState` if one is missing.
  Result<executorch::aten::ArrayRef<T>> tryGet() const;

 private:
  friend struct EValue;

  static size_t check_size(EValue** wrapped, T* unwrapped, int size) {
    ET_CHECK_MSG(
        size >= 0 && (size == 0 || (wrapped != nullptr && unwrapped != nullptr)), "a list of %d items", size);
    return static_cast<size_t>(size);
  }

  executorch::aten::ArrayRef<EValue*> wrapped_;
  T* unwrapped_ = nullptr;
  // The form that the runtime reads optional tensors in: an absent one is null.
  mutable std::vector<executorch::aten::Tensor> nullable_;
};

namespace internal {

/// What `EValue::to<T>()` of a constant value returns.
template <typename T>
struct evalue_to_const_ref_overload_return {
  using type = T;
};

template <>
struct evalue_to_const_ref_overload_return<executorch::aten::Tensor> {
  using type = const executorch::aten::Tensor&;
};

/// What `EValue::to<T>()` of a value that may be changed returns.
template <typename T>
struct evalue_to_ref_overload_return {
  using type = T;
};

template <>
struct evalue_to_ref_overload_return<executorch::aten::Tensor> {
  using type = executorch::aten::Tensor&;
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

} // namespace internal

/// A tagged value: a tensor, a number, a string, a list, or nothing. It owns nothing that it points to; copying it
/// copies the pointers. Its memory is that of an `et_value_t`. `to…` ends the process if the value has another type;
/// `tryTo…` gives `Error::InvalidType` then.
struct EValue {
  using Tensor = executorch::aten::Tensor;
  template <typename T>
  using ArrayRef = executorch::aten::ArrayRef<T>;

  /// What the value holds; the tag says which member.
  union Payload {
    /// Everything but tensors.
    union TriviallyCopyablePayload {
      TriviallyCopyablePayload() : as_string{nullptr, 0} {}
      int64_t as_int;
      double as_double;
      bool as_bool;
      et_string_t as_string;
      et_int_list_t as_int_list;
      et_double_list_t as_double_list;
      et_bool_list_t as_bool_list;
      et_tensor_list_t as_tensor_list;
    } copyable_union;
    Tensor as_tensor;

    Payload() : copyable_union() {}
  };

  Payload payload;
  Tag tag = Tag::None;
  /// Zero.
  uint32_t reserved = 0;

  /// Nothing.
  EValue() = default;

  /// An integer.
  /* implicit */ EValue(int64_t i) : tag(Tag::Int) {
    payload.copyable_union.as_int = i;
  }

  /// An integer.
  template <
      typename T,
      std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, int64_t>, int> = 0>
  /* implicit */ EValue(T i) : EValue(static_cast<int64_t>(i)) {}

  /// A floating-point number.
  /* implicit */ EValue(double d) : tag(Tag::Double) {
    payload.copyable_union.as_double = d;
  }

  /// A boolean.
  /* implicit */ EValue(bool b) : tag(Tag::Bool) {
    payload.copyable_union.as_bool = b;
  }

  /// A number of the scalar's kind.
  /* implicit */ EValue(executorch::aten::Scalar s) {
    if (s.isBoolean()) {
      *this = EValue(s.to<bool>());
    } else if (s.isFloatingPoint()) {
      *this = EValue(s.to<double>());
    } else {
      *this = EValue(s.to<int64_t>());
    }
  }

  /// A tensor, whose record must outlive the value.
  /* implicit */ EValue(Tensor t) : tag(Tag::Tensor) {
    payload.as_tensor = t;
  }

  /// What a smart pointer or `std::optional` holds, such as a `TensorPtr`. It must hold something and outlive the value.
  template <
      typename T,
      typename U = std::decay_t<T>,
      std::enable_if_t<
          !std::is_pointer_v<U> && !std::is_same_v<U, EValue> && !std::is_arithmetic_v<U> &&
              std::is_convertible_v<decltype(*std::declval<T>()), EValue>,
          int> = 0>
  /* implicit */ EValue(T&& value) {
    ET_CHECK_MSG(static_cast<bool>(value), "%s", "a value cannot be made of a null pointer");
    *this = EValue(*std::forward<T>(value));
  }

  /// A pointer is no value: dereference it.
  template <typename T>
  explicit EValue(T* value) = delete;

  /// A string, which must outlive the value.
  /* implicit */ EValue(ArrayRef<char>* s) : tag(Tag::String) {
    ET_CHECK_MSG(s != nullptr, "%s", "a value cannot be made of a null pointer");
    payload.copyable_union.as_string = {s->data(), s->size()};
  }

  /// A list of integers: what the boxed list holds now. Its arrays must outlive the value.
  /* implicit */ EValue(BoxedEvalueList<int64_t>* i) : tag(Tag::ListInt) {
    ET_CHECK_MSG(i != nullptr, "%s", "a value cannot be made of a null pointer");
    const ArrayRef<int64_t> list = i->get();
    payload.copyable_union.as_int_list = {list.data(), list.size()};
  }

  /// A list of integers, which must outlive the value.
  /* implicit */ EValue(ArrayRef<int64_t>* i) : tag(Tag::ListInt) {
    ET_CHECK_MSG(i != nullptr, "%s", "a value cannot be made of a null pointer");
    payload.copyable_union.as_int_list = {i->data(), i->size()};
  }

  /// A list of booleans, which must outlive the value.
  /* implicit */ EValue(ArrayRef<bool>* b) : tag(Tag::ListBool) {
    ET_CHECK_MSG(b != nullptr, "%s", "a value cannot be made of a null pointer");
    payload.copyable_union.as_bool_list = {b->data(), b->size()};
  }

  /// A list of floating-point numbers, which must outlive the value.
  /* implicit */ EValue(ArrayRef<double>* d) : tag(Tag::ListDouble) {
    ET_CHECK_MSG(d != nullptr, "%s", "a value cannot be made of a null pointer");
    payload.copyable_union.as_double_list = {d->data(), d->size()};
  }

  /// A list of tensors: what the boxed list holds now. Its arrays must outlive the value.
  /* implicit */ EValue(BoxedEvalueList<Tensor>* t) : tag(Tag::ListTensor) {
    ET_CHECK_MSG(t != nullptr, "%s", "a value cannot be made of a null pointer");
    const ArrayRef<Tensor> list = t->get();
    payload.copyable_union.as_tensor_list = {reinterpret_cast<et_tensor_t* const*>(list.data()), list.size()};
  }

  /// A list of tensors, some of which may be absent: what the boxed list holds now. The list must outlive the value.
  /* implicit */ EValue(BoxedEvalueList<std::optional<Tensor>>* t) : tag(Tag::ListOptionalTensor) {
    ET_CHECK_MSG(t != nullptr, "%s", "a value cannot be made of a null pointer");
    const ArrayRef<std::optional<Tensor>> list = t->get();
    t->nullable_.assign(list.size(), Tensor(nullptr));
    for (size_t i = 0; i < list.size(); ++i) {
      t->nullable_[i] = list[i].value_or(Tensor(nullptr));
    }
    payload.copyable_union.as_tensor_list = {
        reinterpret_cast<et_tensor_t* const*>(t->nullable_.data()), list.size()};
  }

  bool isNone() const {
    return tag == Tag::None;
  }

  bool isInt() const {
    return tag == Tag::Int;
  }

  bool isDouble() const {
    return tag == Tag::Double;
  }

  bool isBool() const {
    return tag == Tag::Bool;
  }

  /// Whether it is a number: an integer, a floating-point number or a boolean.
  bool isScalar() const {
    return isInt() || isDouble() || isBool();
  }

  bool isTensor() const {
    return tag == Tag::Tensor;
  }

  bool isString() const {
    return tag == Tag::String;
  }

  bool isIntList() const {
    return tag == Tag::ListInt;
  }

  bool isBoolList() const {
    return tag == Tag::ListBool;
  }

  bool isDoubleList() const {
    return tag == Tag::ListDouble;
  }

  bool isTensorList() const {
    return tag == Tag::ListTensor;
  }

  bool isListOptionalTensor() const {
    return tag == Tag::ListOptionalTensor;
  }

  int64_t toInt() const {
    must_be(Tag::Int);
    return payload.copyable_union.as_int;
  }

  Result<int64_t> tryToInt() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Int));
    return toInt();
  }

  double toDouble() const {
    must_be(Tag::Double);
    return payload.copyable_union.as_double;
  }

  Result<double> tryToDouble() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Double));
    return toDouble();
  }

  bool toBool() const {
    must_be(Tag::Bool);
    return payload.copyable_union.as_bool;
  }

  Result<bool> tryToBool() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Bool));
    return toBool();
  }

  /// A number of any kind.
  executorch::aten::Scalar toScalar() const {
    if (isDouble()) {
      return toDouble();
    }
    return isBool() ? executorch::aten::Scalar(toBool()) : executorch::aten::Scalar(toInt());
  }

  Result<executorch::aten::Scalar> tryToScalar() const {
    ET_CHECK_OR_RETURN_ERROR(isScalar(), InvalidType, "expected a number, found %s", tag_to_string(tag));
    return toScalar();
  }

  Tensor toTensor() && {
    must_be(Tag::Tensor);
    return payload.as_tensor;
  }

  Tensor& toTensor() & {
    must_be(Tag::Tensor);
    return payload.as_tensor;
  }

  const Tensor& toTensor() const& {
    must_be(Tag::Tensor);
    return payload.as_tensor;
  }

  Result<Tensor> tryToTensor() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Tensor));
    return payload.as_tensor;
  }

  std::string_view toString() const {
    must_be(Tag::String);
    return {payload.copyable_union.as_string.data, payload.copyable_union.as_string.length};
  }

  Result<std::string_view> tryToString() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::String));
    return toString();
  }

  ArrayRef<int64_t> toIntList() const {
    must_be(Tag::ListInt);
    return {payload.copyable_union.as_int_list.data, payload.copyable_union.as_int_list.length};
  }

  Result<ArrayRef<int64_t>> tryToIntList() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::ListInt));
    return toIntList();
  }

  ArrayRef<bool> toBoolList() const {
    must_be(Tag::ListBool);
    return {payload.copyable_union.as_bool_list.data, payload.copyable_union.as_bool_list.length};
  }

  Result<ArrayRef<bool>> tryToBoolList() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::ListBool));
    return toBoolList();
  }

  ArrayRef<double> toDoubleList() const {
    must_be(Tag::ListDouble);
    return {payload.copyable_union.as_double_list.data, payload.copyable_union.as_double_list.length};
  }

  Result<ArrayRef<double>> tryToDoubleList() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::ListDouble));
    return toDoubleList();
  }

  ArrayRef<Tensor> toTensorList() const {
    must_be(Tag::ListTensor);
    const et_tensor_list_t& list = payload.copyable_union.as_tensor_list;
    return {reinterpret_cast<const Tensor*>(list.data), list.length};
  }

  Result<ArrayRef<Tensor>> tryToTensorList() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::ListTensor));
    return toTensorList();
  }

  /// A list of tensors, some of which may be absent. The array is this thread's: it is valid until the function was
  /// called 16 more times on it.
  ArrayRef<std::optional<Tensor>> toListOptionalTensor() const {
    must_be(Tag::ListOptionalTensor);
    constexpr size_t kArrays = 16;
    thread_local std::array<std::vector<std::optional<Tensor>>, kArrays> arrays;
    thread_local size_t next = 0;
    std::vector<std::optional<Tensor>>& array = arrays[next];
    next = (next + 1) % kArrays;
    const et_tensor_list_t& list = payload.copyable_union.as_tensor_list;
    const Tensor* items = reinterpret_cast<const Tensor*>(list.data);
    array.assign(list.length, std::nullopt);
    for (size_t i = 0; i < list.length; ++i) {
      if (items[i].unsafeGetTensorImpl() != nullptr) {
        array[i] = items[i];
      }
    }
    return array;
  }

  Result<ArrayRef<std::optional<Tensor>>> tryToListOptionalTensor() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::ListOptionalTensor));
    return toListOptionalTensor();
  }

  /// An integer that is the number of an element type.
  executorch::aten::ScalarType toScalarType() const {
    return static_cast<executorch::aten::ScalarType>(toInt());
  }

  Result<executorch::aten::ScalarType> tryToScalarType() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Int));
    return toScalarType();
  }

  /// An integer that is the number of a memory format.
  executorch::aten::MemoryFormat toMemoryFormat() const {
    return static_cast<executorch::aten::MemoryFormat>(toInt());
  }

  Result<executorch::aten::MemoryFormat> tryToMemoryFormat() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Int));
    return toMemoryFormat();
  }

  /// An integer that is the number of a layout.
  executorch::aten::Layout toLayout() const {
    return static_cast<executorch::aten::Layout>(toInt());
  }

  Result<executorch::aten::Layout> tryToLayout() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Int));
    return toLayout();
  }

  /// An integer that is the number of a device type; the index is -1, the current device.
  executorch::aten::Device toDevice() const {
    return {static_cast<executorch::aten::DeviceType>(toInt()), -1};
  }

  Result<executorch::aten::Device> tryToDevice() const {
    ET_CHECK_OK_OR_RETURN_ERROR(expect(Tag::Int));
    return toDevice();
  }

  /// The value as `T`: any type that has a `to…` function, or a `std::optional` of one (`toOptional`).
  template <typename T>
  T to() && {
    return *static_cast<const EValue&>(*this).tryTo<T>();
  }

  template <typename T>
  typename internal::evalue_to_const_ref_overload_return<T>::type to() const& {
    if constexpr (std::is_same_v<T, Tensor>) {
      return toTensor();
    } else {
      return *tryTo<T>();
    }
  }

  template <typename T>
  typename internal::evalue_to_ref_overload_return<T>::type to() & {
    if constexpr (std::is_same_v<T, Tensor>) {
      return toTensor();
    } else {
      return *tryTo<T>();
    }
  }

  /// As `to`; `Error::InvalidType` if the value has another type.
  template <typename T>
  Result<T> tryTo() const {
    if constexpr (internal::is_optional<T>) {
      return tryToOptional<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, bool>) {
      return tryToBool();
    } else if constexpr (std::is_same_v<T, int64_t>) {
      return tryToInt();
    } else if constexpr (std::is_same_v<T, double>) {
      return tryToDouble();
    } else if constexpr (std::is_same_v<T, executorch::aten::Scalar>) {
      return tryToScalar();
    } else if constexpr (std::is_same_v<T, Tensor>) {
      return tryToTensor();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return tryToString();
    } else if constexpr (std::is_same_v<T, ArrayRef<int64_t>>) {
      return tryToIntList();
    } else if constexpr (std::is_same_v<T, ArrayRef<bool>>) {
      return tryToBoolList();
    } else if constexpr (std::is_same_v<T, ArrayRef<double>>) {
      return tryToDoubleList();
    } else if constexpr (std::is_same_v<T, ArrayRef<Tensor>>) {
      return tryToTensorList();
    } else if constexpr (std::is_same_v<T, ArrayRef<std::optional<Tensor>>>) {
      return tryToListOptionalTensor();
    } else if constexpr (std::is_same_v<T, executorch::aten::ScalarType>) {
      return tryToScalarType();
    } else if constexpr (std::is_same_v<T, executorch::aten::MemoryFormat>) {
      return tryToMemoryFormat();
    } else if constexpr (std::is_same_v<T, executorch::aten::Layout>) {
      return tryToLayout();
    } else {
      static_assert(std::is_same_v<T, executorch::aten::Device>, "no value holds this type");
      return tryToDevice();
    }
  }

  /// Nothing if the value is None, otherwise as `to`.
  template <typename T>
  std::optional<T> toOptional() const {
    return *tryToOptional<T>();
  }

  /// Nothing if the value is None, otherwise as `tryTo`.
  template <typename T>
  Result<std::optional<T>> tryToOptional() const {
    if (isNone()) {
      return std::optional<T>();
    }
    ET_ASSIGN_OR_RETURN(T value, tryTo<T>());
    return std::optional<T>(std::move(value));
  }

 private:
  void must_be(Tag expected) const {
    ET_CHECK_MSG(
        tag == expected, "the value is %s, expected %s", tag_to_string(tag), tag_to_string(expected));
  }

  Error expect(Tag expected) const {
    ET_CHECK_OR_RETURN_ERROR(
        tag == expected, InvalidType, "the value is %s, expected %s", tag_to_string(tag), tag_to_string(expected));
    return Error::Ok;
  }
};

static_assert(
    sizeof(EValue) == sizeof(et_value_t) && offsetof(EValue, tag) == offsetof(et_value_t, tag) &&
        std::is_standard_layout_v<EValue> && std::is_trivially_copyable_v<EValue>,
    "a value is handed to the runtime as it is");

template <typename T>
executorch::aten::ArrayRef<T> BoxedEvalueList<T>::get() const {
  return *tryGet();
}

template <typename T>
Result<executorch::aten::ArrayRef<T>> BoxedEvalueList<T>::tryGet() const {
  for (size_t i = 0; i < wrapped_.size(); ++i) {
    if constexpr (internal::is_optional<T>) {
      // The item's place may be uninitialised memory.
      new (&unwrapped_[i]) T();
      if (wrapped_[i] != nullptr) {
        ET_ASSIGN_OR_RETURN(unwrapped_[i], wrapped_[i]->template tryTo<T>(), "item %zu", i);
      }
    } else {
      ET_CHECK_OR_RETURN_ERROR(wrapped_[i] != nullptr, InvalidState, "item %zu of the list is missing", i);
      ET_ASSIGN_OR_RETURN(unwrapped_[i], wrapped_[i]->template tryTo<T>(), "item %zu", i);
    }
  }
  return executorch::aten::ArrayRef<T>(unwrapped_, wrapped_.size());
}

namespace internal {

/// A value of the C interface, in place. Null stays null.
inline EValue* from_c(et_value_t* value) {
  return reinterpret_cast<EValue*>(value);
}

/// A value as the C interface takes it, in place.
inline const et_value_t* to_c(const EValue* value) {
  return reinterpret_cast<const et_value_t*>(value);
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::BoxedEvalueList;
using ::executorch::runtime::EValue;
} // namespace executor
} // namespace torch
