/// \file
/// Options that operators take.

#pragma once

#include <cstdint>

namespace executorch {
namespace runtime {
namespace etensor {

/// The order in which an operator lays out its result.
enum class MemoryFormat : int8_t {
  /// Row-major.
  Contiguous,
  /// As the input.
  Preserve,
};

/// How elements are stored.
enum class Layout : int8_t {
  /// Densely.
  Strided,
};

} // namespace etensor
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Layout;
using ::executorch::runtime::etensor::MemoryFormat;
} // namespace executor
} // namespace torch
