/// \file
/// What a value holds. The C side is executorch/c/value.h.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <executorch/c/value.h>

namespace executorch {
namespace runtime {

/// `EXECUTORCH_FORALL_TAGS(X)` expands to `X(name, number)` for every tag.
#define EXECUTORCH_FORALL_TAGS(X)         \
  X(None, ET_TAG_NONE)                    \
  X(Tensor, ET_TAG_TENSOR)                \
  X(String, ET_TAG_STRING)                \
  X(Double, ET_TAG_DOUBLE)                \
  X(Int, ET_TAG_INT)                      \
  X(Bool, ET_TAG_BOOL)                    \
  X(ListBool, ET_TAG_LIST_BOOL)           \
  X(ListDouble, ET_TAG_LIST_DOUBLE)       \
  X(ListInt, ET_TAG_LIST_INT)             \
  X(ListTensor, ET_TAG_LIST_TENSOR)       \
  X(ListScalar, ET_TAG_LIST_SCALAR)       \
  X(ListOptionalTensor, ET_TAG_LIST_OPTIONAL_TENSOR)

/// What a value holds.
enum class Tag : uint32_t {
#define ET_INTERNAL_TAG(name, number) name = number,
  EXECUTORCH_FORALL_TAGS(ET_INTERNAL_TAG)
#undef ET_INTERNAL_TAG
};

/// The name of a tag, such as `"ListInt"`; `"Unknown"` for a number that is none. The string is static.
inline const char* tag_to_string(Tag tag) {
  switch (tag) {
#define ET_INTERNAL_TAG(name, number) \
  case Tag::name:                     \
    return #name;
    EXECUTORCH_FORALL_TAGS(ET_INTERNAL_TAG)
#undef ET_INTERNAL_TAG
  }
  return "Unknown";
}

/// Enough bytes for any tag's name and its NUL.
inline constexpr size_t kTagNameBufferSize = 19;

/// Writes a tag's name to `buffer`, cut off if it is too small; returns the length of the whole name without its NUL.
inline size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size) {
  const char* name = tag_to_string(tag);
  if (buffer_size != 0) {
    std::snprintf(buffer, buffer_size, "%s", name);
  }
  return std::strlen(name);
}

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Tag;
} // namespace executor
} // namespace torch
