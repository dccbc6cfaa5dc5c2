/// \file
/// Handed to a backend while its options are set or read.

#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Empty for now.
class BackendOptionContext final {
 public:
  explicit BackendOptionContext() = default;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch
