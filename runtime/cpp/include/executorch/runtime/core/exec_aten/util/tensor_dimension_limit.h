/// \file
/// The most dimensions that a tensor may have.

#pragma once

#include <cstddef>

#include <executorch/c/tensor.h>

namespace executorch {
namespace runtime {

/// The most dimensions that a tensor may have.
inline constexpr size_t kTensorDimensionLimit = ET_MAX_RANK;

} // namespace runtime
} // namespace executorch
