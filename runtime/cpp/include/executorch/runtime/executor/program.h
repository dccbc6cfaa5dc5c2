/// \file
/// A `.pte` file: what is in it, and loading its methods. The C side is executorch/c/program.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <executorch/c/program.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// A loaded program. Immutable: it may be used from several threads. Its loader must outlive it and its methods.
class Program final {
 public:
  /// How much of a file is checked. All of it is checked always; both values mean the same.
  enum class Verification : uint8_t {
    Minimal,
    InternalConsistency,
  };

  /// The newest version of the file format that is understood.
  static constexpr uint32_t kMaxSupportedSchemaVersion = 0;

  /// How many bytes of a file `check_header` wants.
  static constexpr size_t kMinHeadBytes = ET_HEADER_MIN_BYTES;

  /// What the first bytes of a file say.
  enum HeaderStatus {
    /// A program that this runtime reads.
    CompatibleVersion = ET_HEADER_COMPATIBLE,
    /// A program of another format version.
    IncompatibleVersion = ET_HEADER_INCOMPATIBLE,
    /// No program.
    NotPresent = ET_HEADER_NOT_PRESENT,
    /// Fewer than `kMinHeadBytes` were given.
    ShortData = ET_HEADER_SHORT_DATA,
  };

  /// Loads a program through `loader`, which the caller keeps, and verifies all of it. `Error::InvalidProgram` comes
  /// with a message that says what is wrong and where.
  ET_NODISCARD static Result<Program> load(
      DataLoader* loader,
      ET_UNUSED Verification verification = Verification::Minimal) {
    ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument, "%s", "the loader is null");
    const et_data_loader_t table = internal::to_c(static_cast<const DataLoader*>(loader));
    et_program_t* program = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_program_load(&table, &program)));
    return Program(program);
  }

  /// The older name of `load`.
  ET_NODISCARD static Result<Program> Load(
      DataLoader* loader,
      Verification verification = Verification::Minimal) {
    return load(loader, verification);
  }

  /// Takes the other's program. The other may only be destroyed.
  Program(Program&& other) noexcept = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program& operator=(Program&&) = delete;

  /// The bytes of constant `buffer_idx`, at least `nbytes` of them; valid as long as the program.
  Result<const void*> get_constant_buffer_data(size_t buffer_idx, size_t nbytes) const {
    const void* data = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_program_constant(program_.get(), buffer_idx, nbytes, &data)));
    return data;
  }

  /// The program's named data; valid as long as the program.
  Result<const NamedDataMap*> get_named_data_map() const {
    return static_cast<const NamedDataMap*>(data_map_.get());
  }

  size_t num_methods() const {
    return et_program_method_count(program_.get());
  }

  /// The name of method `method_index`, valid as long as the program; `Error::InvalidArgument` past the end.
  Result<const char*> get_method_name(size_t method_index) const {
    const et_method_meta_t* meta = et_program_method_at(program_.get(), method_index);
    ET_CHECK_OR_RETURN_ERROR(
        meta != nullptr, InvalidArgument, "method %zu, the program has %zu", method_index, num_methods());
    return et_method_meta_name(meta);
  }

  /// Loads a method: allocates its memory, initialises its delegates, resolves and prepares its kernels.
  ///
  /// Everything after the name may be null or empty. Memory, tracer, data map and the kernels' names must outlive the
  /// method; the options are read during the load only. Kernels of `kernel_registry` are looked up before the
  /// registered ones. The error's message tells what is missing: operators, backends, external data or memory.
  Result<Method> load_method(
      const char* method_name,
      MemoryManager* memory_manager,
      EventTracer* event_tracer = nullptr,
      const NamedDataMap* named_data_map = nullptr,
      const LoadBackendOptionsMap* backend_options = nullptr,
      Span<const Kernel> kernel_registry = {}) const {
    return Method::load(
        program_.get(), method_name, memory_manager, event_tracer, named_data_map, backend_options, kernel_registry);
  }

  /// What the program says of a method, valid as long as the program; `Error::InvalidArgument` lists the methods if
  /// there is none of this name.
  Result<MethodMeta> method_meta(const char* method_name) const {
    const et_method_meta_t* meta = nullptr;
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_program_method_find(program_.get(), method_name, &meta)));
    return MethodMeta(meta);
  }

  /// PyTorch's description (JSON) of how a method's outputs are nested; empty if the file has none.
  Result<const char*> get_output_flattening_encoding(const char* method_name = "forward") const {
    ET_ASSIGN_OR_RETURN(const MethodMeta meta, method_meta(method_name));
    return et_method_meta_output_encoding(meta.c_meta());
  }

  /// What the first bytes of a file say.
  static HeaderStatus check_header(const void* data, size_t size) {
    return static_cast<HeaderStatus>(et_program_check_header(data, size));
  }

 private:
  struct Release {
    void operator()(et_program_t* program) const {
      et_program_release(program);
    }
  };

  explicit Program(et_program_t* program)
      : program_(program), data_map_(std::make_unique<internal::NativeDataMap>(borrowed_map(program))) {}

  static et_data_map_t borrowed_map(et_program_t* program) {
    et_data_map_t map = *et_program_data_map(program);
    map.destroy = nullptr;
    return map;
  }

  std::unique_ptr<et_program_t, Release> program_;
  std::unique_ptr<internal::NativeDataMap> data_map_;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Program;
} // namespace executor
} // namespace torch
