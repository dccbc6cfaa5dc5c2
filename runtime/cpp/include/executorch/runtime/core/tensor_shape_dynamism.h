/// \file
/// How a tensor's shape may change.

#pragma once

#include <cstdint>

#include <executorch/c/tensor.h>

namespace executorch {
namespace runtime {

/// How a tensor's shape may change. The rank never does.
enum class TensorShapeDynamism : uint8_t {
  /// Not at all.
  STATIC = ET_DYNAMISM_STATIC,
  /// As long as it fits the memory that the tensor was made with.
  DYNAMIC_BOUND = ET_DYNAMISM_BOUND,
  /// Without limit. The runtime treats it as `DYNAMIC_BOUND`.
  DYNAMIC_UNBOUND = ET_DYNAMISM_UNBOUND,
};

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::TensorShapeDynamism;
} // namespace executor
} // namespace torch
