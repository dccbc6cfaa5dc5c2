/// \file
/// A read-only view of consecutive elements that somebody else owns, as PyTorch's `ArrayRef`.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/// `size()` constant elements from `data()` on, which the owner keeps alive.
template <typename T>
class ArrayRef final {
 public:
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  using value_type = T;

  /// No elements.
  /* implicit */ constexpr ArrayRef() noexcept : data_(nullptr), length_(0) {}

  /// One element.
  /* implicit */ constexpr ArrayRef(const T& single) : data_(&single), length_(1) {}

  /// `length` elements.
  constexpr ArrayRef(const T* data, size_t length) : data_(data), length_(length) {}

  /// The elements from `begin` to before `end`.
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), length_(static_cast<size_t>(end - begin)) {}

  /// All of an array.
  template <size_t N>
  /* implicit */ constexpr ArrayRef(const std::array<T, N>& array) : data_(array.data()), length_(N) {}

  /// All of an array.
  template <size_t N>
  /* implicit */ constexpr ArrayRef(const T (&array)[N]) : data_(array), length_(N) {}

  /// All of a vector.
  template <typename Allocator>
  /* implicit */ ArrayRef(const std::vector<T, Allocator>& vector) : data_(vector.data()), length_(vector.size()) {}

  constexpr iterator begin() const {
    return data_;
  }

  constexpr iterator end() const {
    return data_ + length_;
  }

  constexpr const_iterator cbegin() const {
    return data_;
  }

  constexpr const_iterator cend() const {
    return data_ + length_;
  }

  constexpr bool empty() const {
    return length_ == 0;
  }

  constexpr const T* data() const {
    return data_;
  }

  constexpr size_t size() const {
    return length_;
  }

  /// The first element; there must be one.
  const T& front() const {
    ET_CHECK_MSG(length_ != 0, "%s", "front() of an empty ArrayRef");
    return data_[0];
  }

  /// The last element; there must be one.
  const T& back() const {
    ET_CHECK_MSG(length_ != 0, "%s", "back() of an empty ArrayRef");
    return data_[length_ - 1];
  }

  /// Whether both have equal elements in the same order.
  bool equals(ArrayRef other) const {
    if (length_ != other.length_) {
      return false;
    }
    for (size_t i = 0; i < length_; ++i) {
      if (!(data_[i] == other.data_[i])) {
        return false;
      }
    }
    return true;
  }

  /// `count` elements from `begin` on; they must be there.
  ArrayRef slice(size_t begin, size_t count) const {
    ET_CHECK_MSG(
        begin <= length_ && count <= length_ - begin, "slice of %zu elements at %zu of %zu", count, begin, length_);
    return ArrayRef(data_ + begin, count);
  }

  /// The elements from `begin` on.
  ArrayRef slice(size_t begin) const {
    ET_CHECK_MSG(begin <= length_, "slice at %zu of %zu elements", begin, length_);
    return ArrayRef(data_ + begin, length_ - begin);
  }

  /// Element `index`, which must be below `size()`.
  constexpr const T& operator[](size_t index) const {
    return data_[index];
  }

  /// Element `index`; the process ends if it is not below `size()`.
  const T& at(size_t index) const {
    ET_CHECK_MSG(index < length_, "index %zu, size %zu", index, length_);
    return data_[index];
  }

  /// Assigning a temporary would dangle.
  template <typename U>
  ArrayRef& operator=(std::initializer_list<U>) = delete;

 private:
  const T* data_;
  size_t length_;
};

/// A view of one element.
template <typename T>
ArrayRef<T> makeArrayRef(const T& single) {
  return single;
}

/// A view of `length` elements.
template <typename T>
ArrayRef<T> makeArrayRef(const T* data, size_t length) {
  return ArrayRef<T>(data, length);
}

/// A view of the elements from `begin` to before `end`.
template <typename T>
ArrayRef<T> makeArrayRef(const T* begin, const T* end) {
  return ArrayRef<T>(begin, end);
}

/// A view of an array.
template <typename T, std::size_t N>
ArrayRef<T> makeArrayRef(const std::array<T, N>& array) {
  return array;
}

/// The same view.
template <typename T>
ArrayRef<T> makeArrayRef(const ArrayRef<T>& array) {
  return array;
}

/// The same view.
template <typename T>
ArrayRef<T>& makeArrayRef(ArrayRef<T>& array) {
  return array;
}

/// A view of an array.
template <typename T, size_t N>
ArrayRef<T> makeArrayRef(const T (&array)[N]) {
  return ArrayRef<T>(array);
}

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}

template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}

/// A view of 64-bit integers.
using IntArrayRef = ArrayRef<int64_t>;

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::ArrayRef;
using ::executorch::runtime::IntArrayRef;
using ::executorch::runtime::makeArrayRef;
} // namespace executor
} // namespace torch
