/// \file
/// Options of backends.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include <executorch/c/backend.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Bytes of an option's key, its NUL included.
inline constexpr size_t kMaxOptionKeyLength = ET_OPTION_KEY_SIZE;
/// Bytes of an option's string, its NUL included.
inline constexpr size_t kMaxOptionValueLength = ET_OPTION_STRING_SIZE;

/// What an option holds.
using OptionValue = std::variant<bool, int, std::array<char, kMaxOptionValueLength>>;

/// A key and a value.
struct BackendOption {
  /// NUL-terminated.
  char key[kMaxOptionKeyLength]{};
  OptionValue value;
};

/// Up to `MaxCapacity` options with different keys.
template <size_t MaxCapacity>
class BackendOptions {
 public:
  BackendOptions() = default;
  BackendOptions(const BackendOptions&) = default;
  BackendOptions& operator=(const BackendOptions&) = default;
  virtual ~BackendOptions() = default;

  /// The options that are set.
  Span<BackendOption> view() {
    return Span<BackendOption>(options_, size_);
  }

  /// Sets a boolean. `Error::InvalidArgument` if there is no room for another key.
  template <size_t N>
  Error set_option(const char (&key)[N], bool value) noexcept {
    static_assert(N <= kMaxOptionKeyLength, "the option's key is too long");
    return set(key, value);
  }

  /// Sets an integer.
  template <size_t N>
  Error set_option(const char (&key)[N], int value) noexcept {
    static_assert(N <= kMaxOptionKeyLength, "the option's key is too long");
    return set(key, value);
  }

  /// Sets a string, of which the first `kMaxOptionValueLength` - 1 bytes are kept.
  template <size_t N>
  Error set_option(const char (&key)[N], const char* value) noexcept {
    static_assert(N <= kMaxOptionKeyLength, "the option's key is too long");
    std::array<char, kMaxOptionValueLength> text{};
    std::snprintf(text.data(), text.size(), "%s", value);
    return set(key, text);
  }

  /// Writes the value of `key` to `out`, a `bool`, `int` or `const char*`. `Error::NotFound` if the key is not set,
  /// `Error::InvalidArgument` if it holds another type. A string is valid as long as the option is unchanged.
  template <typename T, size_t N>
  Error get_option(const char (&key)[N], T& out) const {
    for (size_t i = 0; i < size_; ++i) {
      if (std::strcmp(options_[i].key, key) != 0) {
        continue;
      }
      if constexpr (std::is_same_v<T, const char*>) {
        if (const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&options_[i].value)) {
          out = text->data();
          return Error::Ok;
        }
      } else if (const T* value = std::get_if<T>(&options_[i].value)) {
        out = *value;
        return Error::Ok;
      }
      return internal::fail(Error::InvalidArgument, "option %s holds another type", key);
    }
    return internal::fail(Error::NotFound, "option %s is not set", key);
  }

 private:
  template <typename T>
  Error set(const char* key, const T& value) noexcept {
    size_t at = 0;
    while (at < size_ && std::strcmp(options_[at].key, key) != 0) {
      ++at;
    }
    if (at == size_) {
      if (size_ == MaxCapacity) {
        return internal::fail(
            Error::InvalidArgument, "option %s does not fit: there is room for %zu options", key, MaxCapacity);
      }
      std::snprintf(options_[at].key, sizeof options_[at].key, "%s", key);
      ++size_;
    }
    options_[at].value = value;
    return Error::Ok;
  }

  BackendOption options_[MaxCapacity]{};
  size_t size_ = 0;
};

namespace internal {

/// An option as the C interface takes it.
inline et_backend_option_t to_c(const BackendOption& option) {
  et_backend_option_t c{};
  std::memcpy(c.key, option.key, sizeof c.key);
  if (const bool* boolean = std::get_if<bool>(&option.value)) {
    c.kind = ET_OPTION_BOOL;
    c.number = *boolean ? 1 : 0;
  } else if (const int* number = std::get_if<int>(&option.value)) {
    c.kind = ET_OPTION_INT;
    c.number = *number;
  } else if (const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&option.value)) {
    c.kind = ET_OPTION_STRING;
    std::memcpy(c.string, text->data(), sizeof c.string);
  }
  return c;
}

} // namespace internal
} // namespace runtime
} // namespace executorch
