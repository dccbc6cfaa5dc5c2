/// \file
/// Handed to a backend while it reads a payload.

#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <variant>

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What a backend may use while it reads a payload.
class BackendInitContext final {
 public:
  explicit BackendInitContext(
      MemoryAllocator* runtime_allocator,
      EventTracer* event_tracer = nullptr,
      const char* method_name = nullptr,
      const NamedDataMap* named_data_map = nullptr,
      Span<const BackendOption> runtime_specs = {})
      : runtime_allocator_(runtime_allocator),
        event_tracer_(event_tracer),
        method_name_(method_name),
        named_data_map_(named_data_map),
        runtime_specs_(runtime_specs) {}

  /// Memory that lives as long as the handle that `init` returns.
  MemoryAllocator* get_runtime_allocator() {
    return runtime_allocator_;
  }

  /// The tracer; null if the runtime traces the call itself.
  EventTracer* event_tracer() {
    return event_tracer_;
  }

  /// The method that is being loaded; valid during the call.
  const char* get_method_name() const {
    return method_name_;
  }

  /// Named data of the program and of the external data files; valid as long as the handle that `init` returns.
  const NamedDataMap* get_named_data_map() const {
    return named_data_map_;
  }

  /// The options for this backend at this load; valid during the call.
  Span<const BackendOption> runtime_specs() const {
    return runtime_specs_;
  }

  /// The option `key`, a `bool`, `int` or `const char*`. `Error::NotFound` if it was not given,
  /// `Error::InvalidArgument` if it holds another type.
  template <typename T>
  Result<T> get_runtime_spec(const char* key) const {
    static_assert(
        std::is_same_v<T, bool> || std::is_same_v<T, int> || std::is_same_v<T, const char*>,
        "an option is a bool, an int or a const char*");
    using Stored = std::conditional_t<std::is_same_v<T, const char*>, std::array<char, kMaxOptionValueLength>, T>;
    for (const BackendOption& option : runtime_specs_) {
      if (std::strcmp(option.key, key) != 0) {
        continue;
      }
      const Stored* value = std::get_if<Stored>(&option.value);
      ET_CHECK_OR_RETURN_ERROR(value != nullptr, InvalidArgument, "option %s holds another type", key);
      if constexpr (std::is_same_v<T, const char*>) {
        return value->data();
      } else {
        return *value;
      }
    }
    return internal::fail(Error::NotFound, "option %s was not given", key);
  }

 private:
  MemoryAllocator* runtime_allocator_;
  EventTracer* event_tracer_;
  const char* method_name_;
  const NamedDataMap* named_data_map_;
  Span<const BackendOption> runtime_specs_;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::BackendInitContext;
} // namespace executor
} // namespace torch
