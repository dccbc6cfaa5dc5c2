/// \file
/// Starting the runtime.

#pragma once

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {

/// Runs the platform layer's `init`. Optional: the runtime itself needs no initialisation. May be called repeatedly.
inline void runtime_init() {
  pal_init();
}

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_init;
} // namespace executor
} // namespace torch
