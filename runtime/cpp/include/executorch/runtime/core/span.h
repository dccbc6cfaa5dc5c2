/// \file
/// A view of consecutive elements that somebody else owns.

#pragma once

#include <cstddef>
#include <type_traits>

#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/// `size()` elements from `data()` on, which the owner keeps alive. `Span<const T>` cannot change them.
template <typename T>
class Span final {
 public:
  using value_type = T;
  using iterator = T*;
  using size_type = size_t;

  /// No elements.
  /* implicit */ constexpr Span() noexcept : data_(nullptr), length_(0) {}

  /// `length` elements.
  /* implicit */ Span(T* data, size_t length) : data_(data), length_(length) {
    ET_DCHECK(data != nullptr || length == 0);
  }

  /// The elements from `begin` to before `end`.
  Span(T* begin, T* end) : data_(begin), length_(static_cast<size_t>(end - begin)) {}

  /// All of an array.
  template <size_t N>
  /* implicit */ constexpr Span(T (&array)[N]) : data_(array), length_(N) {}

  /// One element.
  /* implicit */ constexpr Span(T& single) : data_(&single), length_(1) {}

  /// The same elements, read only.
  template <
      typename U,
      std::enable_if_t<!std::is_same_v<U, T> && std::is_same_v<const U, T>, int> = 0>
  /* implicit */ constexpr Span(Span<U> other) : data_(other.data()), length_(other.size()) {}

  iterator begin() const noexcept {
    return data_;
  }

  iterator end() const noexcept {
    return data_ + length_;
  }

  constexpr bool empty() const noexcept {
    return length_ == 0;
  }

  constexpr T* data() const noexcept {
    return data_;
  }

  constexpr size_t size() const noexcept {
    return length_;
  }

  /// Element `index`, which must be below `size()`.
  T& operator[](size_t index) const {
    ET_DCHECK_MSG(index < length_, "index %zu, size %zu", index, length_);
    return data_[index];
  }

 private:
  T* data_;
  size_t length_;
};

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Span;
} // namespace executor
} // namespace torch
