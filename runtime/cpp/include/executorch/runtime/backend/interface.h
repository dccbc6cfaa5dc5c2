/// \file
/// Backends written in C++: delegates that run a part of a program. The C side is executorch/c/backend.h.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/c/backend.h>
#include <executorch/runtime/backend/backend_execution_context.h>
#include <executorch/runtime/backend/backend_init_context.h>
#include <executorch/runtime/backend/backend_option_context.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/platform_memory_allocator.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Bytes that somebody else owns.
struct SizedBuffer {
  void* buffer;
  size_t nbytes;
};

/// What the exporter left for the backend.
struct CompileSpec {
  const char* key;
  SizedBuffer value;
};

/// A backend's own data of one payload.
using DelegateHandle = void;

/// Derive from it to run parts of programs. Its functions may be called from several threads at once, but one handle is
/// used by one thread at a time. Functions that fail return a code; `executorch/c/error.h` sets a message. They must not
/// throw.
class BackendInterface {
 public:
  virtual ~BackendInterface() = default;

  /// Whether it can run on this machine.
  ET_NODISCARD virtual bool is_available() const = 0;

  /// Reads a payload and returns a handle. `processed` belongs to the runtime and stays until the handle is destroyed;
  /// `processed->Free()` gives its bytes back earlier. `compile_specs` are valid during the call.
  ET_NODISCARD virtual Result<DelegateHandle*> init(
      BackendInitContext& context,
      FreeableBuffer* processed,
      ArrayRef<CompileSpec> compile_specs) const = 0;

  /// Runs a handle on the call's arguments: inputs, then outputs.
  ET_NODISCARD virtual Error execute(
      BackendExecutionContext& context,
      DelegateHandle* handle,
      Span<EValue*> args) const = 0;

  /// Sets process-wide options. Ignores them by default.
  ET_NODISCARD virtual Error set_option(
      BackendOptionContext& /*context*/,
      const Span<BackendOption>& /*backend_options*/) {
    return Error::Ok;
  }

  /// Fills in the options whose keys are given. Leaves them as they are by default.
  ET_NODISCARD virtual Error get_option(BackendOptionContext& /*context*/, Span<BackendOption>& /*backend_options*/) {
    return Error::Ok;
  }

  /// Frees what `init` made, but not the handle's own memory if it came from the runtime's allocator.
  virtual void destroy(DelegateHandle* /*handle*/) const {}
};

/// A backend and the id that programs name it by.
struct Backend {
  const char* name;
  BackendInterface* backend;
};

namespace internal {

/// An option of the C interface.
inline BackendOption from_c(const et_backend_option_t& c) {
  BackendOption option;
  std::memcpy(option.key, c.key, sizeof option.key);
  if (c.kind == ET_OPTION_BOOL) {
    option.value = c.number != 0;
  } else if (c.kind == ET_OPTION_INT) {
    option.value = static_cast<int>(c.number);
  } else {
    std::array<char, kMaxOptionValueLength> text{};
    std::memcpy(text.data(), c.string, text.size());
    option.value = text;
  }
  return option;
}

/// A C++ backend behind the functions of the C interface, whose `user_data` it is.
class BackendBridge {
 public:
  static et_backend_t table(const Backend& backend) {
    et_backend_t c{};
    c.struct_size = sizeof c;
    c.name = backend.name;
    c.user_data = backend.backend;
    c.is_available = [](void* self) { return of(self).is_available(); };
    c.init = &init;
    c.execute = &execute;
    c.destroy = [](void* self, void* opaque) {
      const std::unique_ptr<Handle> handle(static_cast<Handle*>(opaque));
      of(self).destroy(handle->own);
    };
    c.set_options = [](void* self, const et_backend_option_t* given, size_t count) {
      std::vector<BackendOption> options = read(given, count);
      BackendOptionContext context;
      return to_c(of(self).set_option(context, Span<BackendOption>(options.data(), count)));
    };
    c.get_options = [](void* self, et_backend_option_t* asked, size_t count) {
      std::vector<BackendOption> options = read(asked, count);
      BackendOptionContext context;
      Span<BackendOption> span(options.data(), count);
      const Error error = of(self).get_option(context, span);
      for (size_t i = 0; error == Error::Ok && i < count; ++i) {
        asked[i] = to_c(options[i]);
      }
      return to_c(error);
    };
    return c;
  }

  /// The C++ backend behind a table; null if it is not one.
  static BackendInterface* backend_of(const et_backend_t* table) {
    return table != nullptr && table->init == &init ? static_cast<BackendInterface*>(table->user_data) : nullptr;
  }

 private:
  // What a backend was given for one payload, for as long as the payload lives.
  struct Handle {
    explicit Handle(const et_backend_init_context_t& context, const et_buffer_t& buffer)
        : data_map(borrowed(*context.data_map)),
          processed(from_c(buffer)),
          native(context.method_allocator) {
      allocator = context.method_allocator == nullptr ? static_cast<MemoryAllocator*>(&platform) : &native;
    }

    NativeDataMap data_map;
    FreeableBuffer processed;
    NativeAllocator native;
    PlatformMemoryAllocator platform;
    MemoryAllocator* allocator;
    DelegateHandle* own = nullptr;
  };

  static BackendInterface& of(void* self) {
    return *static_cast<BackendInterface*>(self);
  }

  static et_data_map_t borrowed(et_data_map_t map) {
    map.destroy = nullptr;
    return map;
  }

  static std::vector<BackendOption> read(const et_backend_option_t* options, size_t count) {
    std::vector<BackendOption> out;
    for (size_t i = 0; i < count; ++i) {
      out.push_back(from_c(options[i]));
    }
    return out;
  }

  static et_error_t init(
      void* self,
      const et_backend_init_context_t* given,
      const et_buffer_t* processed,
      const et_compile_spec_t* specs,
      size_t spec_count,
      void** out) {
    auto handle = std::make_unique<Handle>(*given, *processed);
    const std::vector<BackendOption> options = read(given->options, given->option_count);
    std::vector<CompileSpec> compile_specs;
    for (size_t i = 0; i < spec_count; ++i) {
      compile_specs.push_back({specs[i].key, {const_cast<void*>(specs[i].value), specs[i].size}});
    }
    BackendInitContext context(
        handle->allocator, /*event_tracer=*/nullptr, given->method_name, &handle->data_map,
        Span<const BackendOption>(options.data(), options.size()));
    const Result<DelegateHandle*> own =
        of(self).init(context, &handle->processed, ArrayRef<CompileSpec>(compile_specs.data(), compile_specs.size()));
    if (!own.ok()) {
      return to_c(own.error());
    }
    handle->own = *own;
    *out = handle.release();
    return ET_OK;
  }

  static et_error_t execute(
      void* self,
      const et_backend_execute_context_t* given,
      void* opaque,
      et_value_t* const* args,
      size_t count) {
    NativeAllocator temp(given->temp_allocator);
    BackendExecutionContext context(
        /*event_tracer=*/nullptr, given->temp_allocator == nullptr ? nullptr : &temp, given->method_name);
    // The values are the runtime's own; the array of their addresses is const only to C.
    return to_c(of(self).execute(
        context, static_cast<Handle*>(opaque)->own,
        Span<EValue*>(reinterpret_cast<EValue**>(const_cast<et_value_t**>(args)), count)));
  }
};

} // namespace internal

/// Registers a backend for the whole process; it and its name must live as long as the process. Another backend under
/// the name is refused with `Error::RegistrationAlreadyRegistered` and a message that names both libraries. Never ends the
/// process.
ET_NODISCARD inline Error register_backend(const Backend& backend) {
  ET_CHECK_OR_RETURN_ERROR(
      backend.name != nullptr && backend.backend != nullptr, InvalidArgument, "%s", "the backend or its name is null");
  const et_backend_t* present = et_backend_find(backend.name);
  if (internal::BackendBridge::backend_of(present) == backend.backend) {
    return Error::Ok;
  }
  et_registration_t registration{};
  registration.struct_size = sizeof registration;
  registration.abi_major = ET_ABI_MAJOR;
  registration.abi_minor = ET_ABI_MINOR;
  registration.component_name = backend.name;
  registration.component_version = et_version();
  auto table = std::make_unique<et_backend_t>(internal::BackendBridge::table(backend));
  const Error error = internal::from_c(et_register_backend(&registration, table.get()));
  if (error == Error::Ok) {
    // The registry keeps it as long as the process lives.
    table.release();
  }
  return error;
}

/// The C++ backend of this name; null if there is none, or if it is not written in C++.
inline BackendInterface* get_backend_class(const char* name) {
  return internal::BackendBridge::backend_of(et_backend_find(name));
}

/// The number of registered backends.
inline size_t get_num_registered_backends() {
  return et_backend_count();
}

/// The name of backend number `index`; `Error::NotFound` past the end.
inline Result<const char*> get_backend_name(size_t index) {
  const char* name = et_backend_name(index);
  ET_CHECK_OR_RETURN_ERROR(name != nullptr, NotFound, "backend %zu, there are %zu", index, et_backend_count());
  return name;
}

/// Sets process-wide options of a backend. `Error::NotFound` if there is none of this name.
inline Error set_option(const char* backend_name, const Span<BackendOption> backend_options) {
  const et_backend_t* backend = et_backend_find(backend_name);
  ET_CHECK_OR_RETURN_ERROR(backend != nullptr, NotFound, "no backend is registered as %s", backend_name);
  ET_CHECK_OR_RETURN_ERROR(backend->set_options != nullptr, NotImplemented, "%s has no options", backend_name);
  std::vector<et_backend_option_t> options;
  for (const BackendOption& option : backend_options) {
    options.push_back(internal::to_c(option));
  }
  return internal::from_c(backend->set_options(backend->user_data, options.data(), options.size()));
}

/// Reads the options whose keys are given. `Error::NotFound` if there is no backend of this name.
inline Error get_option(const char* backend_name, Span<BackendOption> backend_options) {
  const et_backend_t* backend = et_backend_find(backend_name);
  ET_CHECK_OR_RETURN_ERROR(backend != nullptr, NotFound, "no backend is registered as %s", backend_name);
  ET_CHECK_OR_RETURN_ERROR(backend->get_options != nullptr, NotImplemented, "%s has no options", backend_name);
  std::vector<et_backend_option_t> options;
  for (const BackendOption& option : backend_options) {
    options.push_back(internal::to_c(option));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      internal::from_c(backend->get_options(backend->user_data, options.data(), options.size())));
  for (size_t i = 0; i < backend_options.size(); ++i) {
    backend_options[i] = internal::from_c(options[i]);
  }
  return Error::Ok;
}

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Backend;
using ::executorch::runtime::CompileSpec;
using ::executorch::runtime::DelegateHandle;
using ::executorch::runtime::get_backend_class;
using ::executorch::runtime::get_backend_name;
using ::executorch::runtime::get_num_registered_backends;
using PyTorchBackendInterface = ::executorch::runtime::BackendInterface;
using ::executorch::runtime::register_backend;
using ::executorch::runtime::SizedBuffer;
} // namespace executor
} // namespace torch
