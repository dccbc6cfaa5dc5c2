/// \file
/// Attributes and small macros that the other headers use.

#pragma once

#include <cinttypes>
#include <cstddef>
#include <sys/types.h>

#if !defined(__GNUC__) && !defined(__clang__)
#error "the executorch C++ headers need gcc or clang"
#endif

#if __cplusplus < 201703L
#error "the executorch C++ headers need C++17: pass -std=c++17, or link the CMake target executorch::runtime"
#endif

/// The function does not return.
#define ET_NORETURN [[noreturn]]
/// The result must be looked at.
#define ET_NODISCARD [[nodiscard]]
/// The entity may be unused.
#define ET_UNUSED [[maybe_unused]]
/// A switch case goes on into the next one on purpose.
#define ET_FALLTHROUGH [[fallthrough]]
/// Kept for source that uses it; there is a better way.
#define ET_DEPRECATED [[deprecated]]
/// The interface may change. No compiler attribute, so that using it gives no warning.
#define ET_EXPERIMENTAL
/// Never inlined.
#define ET_NOINLINE __attribute__((noinline))
/// Inlined always.
#define ET_INLINE __attribute__((always_inline)) inline
/// The pointer aliases no other.
#define ET_RESTRICT __restrict__
/// A definition that another one may replace, or a declaration that may stay undefined.
#define ET_WEAK __attribute__((weak))
/// Control never gets here.
#define ET_UNREACHABLE() __builtin_unreachable()
/// The condition is expected to hold.
#define ET_LIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 1))
/// The condition is expected not to hold.
#define ET_UNLIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 0))
/// The argument at `format_index` is a printf format for the arguments from `first_argument` on.
#define ET_PRINTFLIKE(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
/// The file being compiled, for messages.
#define ET_SHORT_FILENAME (::executorch::runtime::internal::base_name(__FILE__))
/// The line being compiled.
#define ET_LINE __LINE__
/// The function being compiled.
#define ET_FUNCTION __func__
/// printf's conversion for `size_t`.
#define ET_PRIsize_t "zu"
/// printf's conversion for `ssize_t`.
#define ET_PRIssize_t "zd"
/// Whether `({ … })` may be used, which `ET_UNWRAP` needs.
#define ET_HAVE_GNU_STATEMENT_EXPRESSIONS 1

/// Whether the translation unit is compiled with exceptions.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define ET_HAS_EXCEPTIONS 1
#else
#define ET_HAS_EXCEPTIONS 0
#endif

namespace executorch {
namespace runtime {
namespace internal {

/// `path` after its last slash.
constexpr const char* base_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') {
      name = path + 1;
    }
  }
  return name;
}

} // namespace internal
} // namespace runtime
} // namespace executorch
