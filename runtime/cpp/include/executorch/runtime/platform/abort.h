/// \file
/// Ending the process after a failed check.

#pragma once

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {

/// Ends the process through the platform layer.
ET_NORETURN inline void runtime_abort() {
  pal_abort();
}

} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_abort;
} // namespace executor
} // namespace torch
