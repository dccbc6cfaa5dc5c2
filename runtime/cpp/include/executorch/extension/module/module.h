/// \file
/// The shortest way to run a program: a file in, values out.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>

/// The namespace of `Module` below `executorch::extension`, where it is known too.
#define ET_MODULE_NAMESPACE module

namespace executorch {
namespace extension {

using runtime::Kernel;
using runtime::LoadBackendOptionsMap;
using runtime::Method;
using runtime::MethodMeta;
using runtime::NamedDataMap;
using runtime::Program;

namespace ET_MODULE_NAMESPACE {

/// A program and its loaded methods.
///
/// Everything is loaded when it is first needed, or by the `load…` functions. Functions that fail give an error code;
/// `executorch::runtime::last_error_message()` tells the details. Functions may be called from several threads, but each
/// method is used by one thread at a time, and with `share_memory_arenas` the whole module is.
class Module {
 public:
  /// How files are brought into memory.
  enum class LoadMode {
    /// Read.
    File,
    /// Mapped; pages come in as they are used. The files must not be truncated meanwhile.
    Mmap,
    /// Mapped, the pages locked in memory; a failure to lock is an error.
    MmapUseMlock,
    /// Mapped, the pages locked in memory if it can be done.
    MmapUseMlockIgnoreErrors,
    /// Mapped, and the kernel is asked to read ahead.
    MmapUseMadvise,
  };

  /// A program in a file. The file is opened by `load`. `memory_allocator` is for what delegates keep with a method,
  /// `temp_allocator` for the memory of one instruction; without them the runtime allocates. With
  /// `share_memory_arenas`, all methods use the same planned buffers: values of one are overwritten by another; a method
  /// with memory on a device cannot be loaded then (`Error::NotSupported`).
  explicit Module(
      const std::string& file_path,
      const LoadMode load_mode = LoadMode::File,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      bool share_memory_arenas = false)
      : Module(
            file_path, std::vector<std::string>(), load_mode, std::move(event_tracer), std::move(memory_allocator),
            std::move(temp_allocator), share_memory_arenas) {}

  /// As above, with the file of its external data (`.ptd`); empty for none.
  explicit Module(
      const std::string& file_path,
      const std::string& data_map_path,
      const LoadMode load_mode = LoadMode::File,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      bool share_memory_arenas = false)
      : Module(
            file_path, data_map_path.empty() ? std::vector<std::string>() : std::vector<std::string>{data_map_path},
            load_mode, std::move(event_tracer), std::move(memory_allocator), std::move(temp_allocator),
            share_memory_arenas) {}

  /// As above, with several files of external data, whose keys must differ.
  explicit Module(
      const std::string& file_path,
      std::vector<std::string> data_files,
      const LoadMode load_mode = LoadMode::File,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      bool share_memory_arenas = false)
      : file_path_(file_path),
        data_files_(std::move(data_files)),
        load_mode_(load_mode),
        memory_allocator_(std::move(memory_allocator)),
        temp_allocator_(std::move(temp_allocator)),
        event_tracer_(std::move(event_tracer)),
        share_memory_arenas_(share_memory_arenas) {}

  /// A program that `data_loader` loads, and its external data.
  explicit Module(
      std::unique_ptr<runtime::DataLoader> data_loader,
      std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr,
      bool share_memory_arenas = false)
      : load_mode_(LoadMode::File),
        data_loader_(std::move(data_loader)),
        memory_allocator_(std::move(memory_allocator)),
        temp_allocator_(std::move(temp_allocator)),
        event_tracer_(std::move(event_tracer)),
        share_memory_arenas_(share_memory_arenas) {
    add_data_loader(std::move(data_map_loader));
  }

  /// A program that is loaded already and may be shared with other modules.
  explicit Module(
      std::shared_ptr<Program> program,
      std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr,
      bool share_memory_arenas = false)
      : load_mode_(LoadMode::File),
        program_(std::move(program)),
        memory_allocator_(std::move(memory_allocator)),
        temp_allocator_(std::move(temp_allocator)),
        event_tracer_(std::move(event_tracer)),
        share_memory_arenas_(share_memory_arenas) {
    add_data_loader(std::move(data_map_loader));
  }

  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Module(Module&&) = delete;
  Module& operator=(Module&&) = delete;
  virtual ~Module() = default;

  /// Loads the program and its external data, if they are not loaded. All of both is verified always.
  ET_NODISCARD virtual runtime::Error load(
      const Program::Verification verification = Program::Verification::Minimal) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    ET_CHECK_OK_OR_RETURN_ERROR(load_data());
    if (program_ != nullptr) {
      return runtime::Error::Ok;
    }
    if (data_loader_ == nullptr) {
      ET_ASSIGN_OR_RETURN(data_loader_, open(file_path_));
    }
    ET_ASSIGN_OR_RETURN(
        Program program, Program::load(data_loader_.get(), verification), "%s",
        file_path_.empty() ? "program" : file_path_.c_str());
    program_ = std::make_shared<Program>(std::move(program));
    return runtime::Error::Ok;
  }

  /// As above; the options go to the backends whenever a method is loaded. They must outlive the module.
  ET_NODISCARD virtual runtime::Error load(
      const LoadBackendOptionsMap& backend_options,
      const Program::Verification verification = Program::Verification::Minimal) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    backend_options_ = backend_options;
    return load(verification);
  }

  /// The options that `load` was given.
  const LoadBackendOptionsMap& backend_options() const {
    return backend_options_;
  }

  /// Whether the program is loaded.
  virtual bool is_loaded() const {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return program_ != nullptr;
  }

  /// The program; null while it is not loaded.
  std::shared_ptr<Program> program() const {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return program_;
  }

  /// The number of methods.
  runtime::Result<size_t> num_methods() {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    return program_->num_methods();
  }

  /// The names of the methods.
  runtime::Result<std::unordered_set<std::string>> method_names() {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    std::unordered_set<std::string> names;
    for (size_t i = 0; i < program_->num_methods(); ++i) {
      ET_ASSIGN_OR_RETURN(const char* name, program_->get_method_name(i));
      names.emplace(name);
    }
    return names;
  }

  /// Loads a method, if it is not loaded.
  ///
  /// `planned_memory` holds its planned buffers; null lets the module allocate them. `event_tracer` null means that of
  /// the module. `backend_options` null means those of `load`. Kernels of `kernel_registry` are looked up before the
  /// registered ones. Everything that is given must outlive the method, except the options.
  ET_NODISCARD
  runtime::Error load_method(
      const std::string& method_name,
      runtime::HierarchicalAllocator* planned_memory = nullptr,
      runtime::EventTracer* event_tracer = nullptr,
      const LoadBackendOptionsMap* backend_options = nullptr,
      std::vector<Kernel> kernel_registry = {}) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (methods_.find(method_name) != methods_.end()) {
      return runtime::Error::Ok;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    auto holder = std::make_unique<Holder>();
    if (planned_memory == nullptr && share_memory_arenas_) {
      ET_CHECK_OK_OR_RETURN_ERROR(grow_arenas());
      ET_CHECK_OK_OR_RETURN_ERROR(view_arenas(method_name, *holder));
      planned_memory = holder->planned.get();
    }
    holder->kernels = std::move(kernel_registry);
    holder->memory =
        std::make_unique<runtime::MemoryManager>(memory_allocator_.get(), planned_memory, temp_allocator_.get());
    ET_ASSIGN_OR_RETURN(
        Method method,
        program_->load_method(
            method_name.c_str(), holder->memory.get(), event_tracer != nullptr ? event_tracer : event_tracer_.get(),
            data_map(), backend_options != nullptr ? backend_options : &backend_options_,
            runtime::Span<const Kernel>(holder->kernels.data(), holder->kernels.size())));
    holder->method = std::make_unique<Method>(std::move(method));
    ET_CHECK_OK_OR_RETURN_ERROR(allocate_outputs(*holder));
    methods_.emplace(method_name, std::move(holder));
    return runtime::Error::Ok;
  }

  /// As above, with a tracer only.
  ET_NODISCARD runtime::Error load_method(const std::string& method_name, runtime::EventTracer* event_tracer) {
    return load_method(method_name, nullptr, event_tracer);
  }

  /// Frees a method and what belongs to it; returns false if it is not loaded. Values of it are no longer valid.
  bool unload_method(const std::string& method_name) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return methods_.erase(method_name) != 0;
  }

  /// A method, loaded if it is not. It belongs to the module and lives until it is unloaded.
  ET_NODISCARD runtime::Result<Method*> method(const std::string& method_name) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(method_name));
    return methods_.at(method_name)->method.get();
  }

  /// As `load_method`, for "forward".
  ET_NODISCARD runtime::Error load_forward(
      runtime::HierarchicalAllocator* planned_memory = nullptr,
      runtime::EventTracer* event_tracer = nullptr,
      const LoadBackendOptionsMap* backend_options = nullptr,
      std::vector<Kernel> kernel_registry = {}) {
    return load_method("forward", planned_memory, event_tracer, backend_options, std::move(kernel_registry));
  }

  /// As above, with a tracer only.
  ET_NODISCARD runtime::Error load_forward(runtime::EventTracer* event_tracer) {
    return load_forward(nullptr, event_tracer);
  }

  /// As `unload_method`, for "forward".
  bool unload_forward() {
    return unload_method("forward");
  }

  bool is_method_loaded(const std::string& method_name) const {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return methods_.find(method_name) != methods_.end();
  }

  /// What the program says of a method, which need not be loaded. Valid as long as the program.
  runtime::Result<MethodMeta> method_meta(const std::string& method_name) {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
    return program_->method_meta(method_name.c_str());
  }

  /// Runs a method, loaded if it is not, and returns its outputs.
  ///
  /// Input `i` is set to value `i`; inputs behind the values and those whose value is None keep what `set_input` gave
  /// them. The outputs view the method's memory: the next run overwrites them (`clone_tensor_ptr` copies one).
  ET_NODISCARD virtual runtime::Result<std::vector<runtime::EValue>> execute(
      const std::string& method_name,
      const std::vector<runtime::EValue>& input_values) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    ET_CHECK_OR_RETURN_ERROR(
        input_values.size() <= method->inputs_size(), InvalidArgument, "%s takes %zu inputs, found %zu",
        method_name.c_str(), method->inputs_size(), input_values.size());
    for (size_t i = 0; i < input_values.size(); ++i) {
      if (!input_values[i].isNone()) {
        ET_CHECK_OK_OR_RETURN_ERROR(method->set_input(input_values[i], i));
      }
    }
    ET_CHECK_OK_OR_RETURN_ERROR(method->execute());
    return outputs_of(*method);
  }

  /// As above, with one value.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute(
      const std::string& method_name,
      const runtime::EValue& input_value) {
    return execute(method_name, std::vector<runtime::EValue>{input_value});
  }

  /// As above, with the inputs that are set.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name) {
    return execute(method_name, std::vector<runtime::EValue>{});
  }

  /// As `execute`, returning the first output; `Error::InvalidArgument` if there is none.
  ET_NODISCARD runtime::Result<runtime::EValue> get(
      const std::string& method_name,
      const std::vector<runtime::EValue>& input_values) {
    ET_ASSIGN_OR_RETURN(const std::vector<runtime::EValue> outputs, execute(method_name, input_values));
    ET_CHECK_OR_RETURN_ERROR(!outputs.empty(), InvalidArgument, "%s has no outputs", method_name.c_str());
    return outputs[0];
  }

  /// As above, with one value.
  ET_NODISCARD runtime::Result<runtime::EValue> get(
      const std::string& method_name,
      const runtime::EValue& input_value) {
    return get(method_name, std::vector<runtime::EValue>{input_value});
  }

  /// As above, with the inputs that are set.
  ET_NODISCARD runtime::Result<runtime::EValue> get(const std::string& method_name) {
    return get(method_name, std::vector<runtime::EValue>{});
  }

  /// As `execute`, for "forward".
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> forward(
      const std::vector<runtime::EValue>& input_values) {
    return execute("forward", input_values);
  }

  /// As above, with one value.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> forward(const runtime::EValue& input_value) {
    return forward(std::vector<runtime::EValue>{input_value});
  }

  /// As above, with the inputs that are set.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> forward() {
    return forward(std::vector<runtime::EValue>{});
  }

  /// Sets an input of a method, loaded if it is not. See `Method::set_input`.
  ET_NODISCARD runtime::Error set_input(
      const std::string& method_name,
      const runtime::EValue& input_value,
      size_t input_index) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    return method->set_input(input_value, input_index);
  }

  /// As above, for "forward".
  ET_NODISCARD runtime::Error set_input(const runtime::EValue& input_value, size_t input_index) {
    return set_input("forward", input_value, input_index);
  }

  /// Sets all inputs of a method, loaded if it is not: as many values as there are inputs.
  ET_NODISCARD runtime::Error set_inputs(
      const std::string& method_name,
      const std::vector<runtime::EValue>& input_values) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    return method->set_inputs(
        executorch::aten::ArrayRef<runtime::EValue>(input_values.data(), input_values.size()));
  }

  /// As above, for "forward".
  ET_NODISCARD runtime::Error set_inputs(const std::vector<runtime::EValue>& input_values) {
    return set_inputs("forward", input_values);
  }

  /// Lets an output of a method be written to the memory of a tensor, for all coming runs. The memory must outlive
  /// them. `Error::InvalidState` if the output's memory is planned, `Error::InvalidArgument` if the tensor lies on another
  /// device than the one where the program writes the output.
  ET_NODISCARD runtime::Error set_output(
      const std::string& method_name,
      runtime::EValue output_value,
      size_t output_index = 0) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    ET_ASSIGN_OR_RETURN(
        const executorch::aten::Tensor tensor, output_value.tryToTensor(), "output %zu of %s", output_index,
        method_name.c_str());
    ET_ASSIGN_OR_RETURN(const runtime::TensorInfo info, method->method_meta().output_tensor_meta(output_index));
    // Who makes a tensor of a device's address may leave the device out.
    const executorch::aten::Device given = tensor.device(), wanted = info.device();
    ET_CHECK_OR_RETURN_ERROR(
        given == wanted || given.is_cpu(), InvalidArgument,
        "output %zu of %s: the tensor lies on device %d of type %d, but the program writes to device %d of type %d "
        "(1 is CUDA, 0 the host)",
        output_index, method_name.c_str(), given.index(), static_cast<int>(given.type()), wanted.index(),
        static_cast<int>(wanted.type()));
    return method->set_output_data_ptr(tensor.mutable_data_ptr(), tensor.nbytes(), output_index);
  }

  /// As above, for "forward".
  ET_NODISCARD runtime::Error set_output(runtime::EValue output_value, size_t output_index = 0) {
    return set_output("forward", std::move(output_value), output_index);
  }

  /// As `set_output`, for all outputs: as many values as there are outputs.
  ET_NODISCARD runtime::Error set_outputs(
      const std::string& method_name,
      const std::vector<runtime::EValue>& output_values) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    ET_CHECK_OR_RETURN_ERROR(
        output_values.size() == method->outputs_size(), InvalidArgument, "%s has %zu outputs, found %zu",
        method_name.c_str(), method->outputs_size(), output_values.size());
    for (size_t i = 0; i < output_values.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(set_output(method_name, output_values[i], i));
    }
    return runtime::Error::Ok;
  }

  /// As above, for "forward".
  ET_NODISCARD runtime::Error set_outputs(const std::vector<runtime::EValue>& output_values) {
    return set_outputs("forward", output_values);
  }

  /// The outputs of a method, loaded if it is not, as its last run left them.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> get_outputs(const std::string& method_name) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    return outputs_of(*method);
  }

  /// As above, for "forward".
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> get_outputs() {
    return get_outputs("forward");
  }

  /// An output of a method, loaded if it is not, as its last run left it; `Error::InvalidArgument` past the end.
  ET_NODISCARD runtime::Result<runtime::EValue> get_output(
      const std::string& method_name,
      size_t output_index = 0) {
    ET_ASSIGN_OR_RETURN(Method* const method, this->method(method_name));
    ET_CHECK_OR_RETURN_ERROR(
        output_index < method->outputs_size(), InvalidArgument, "output %zu, %s has %zu", output_index,
        method_name.c_str(), method->outputs_size());
    return method->get_output(output_index);
  }

  /// As above, for "forward".
  ET_NODISCARD runtime::Result<runtime::EValue> get_output(size_t output_index = 0) {
    return get_output("forward", output_index);
  }

  /// The module's tracer; null if it has none.
  runtime::EventTracer* event_tracer() const {
    return event_tracer_.get();
  }

  /// The memory that a tracer writes values to; empty if there is none.
  runtime::Span<uint8_t> debug_buffer() {
    return runtime::Span<uint8_t>(debug_buffer_.data(), debug_buffer_.size());
  }

 private:
  // A method and what it borrows, which is destroyed after it.
  struct Holder {
    std::vector<runtime::Span<uint8_t>> buffers;
    std::unique_ptr<runtime::HierarchicalAllocator> planned;
    std::unique_ptr<runtime::MemoryManager> memory;
    std::vector<Kernel> kernels;
    std::vector<runtime::DeviceMemoryBuffer> outputs;
    std::unique_ptr<Method> method;
  };

  // Planned buffers that start where the runtime wants them to.
  struct Arena {
    static constexpr size_t kAlignment = 64;
    std::unique_ptr<uint8_t[]> memory;
    size_t size = 0;

    uint8_t* start() const {
      const uintptr_t address = reinterpret_cast<uintptr_t>(memory.get());
      return memory.get() + (-address & (kAlignment - 1));
    }
  };

  void add_data_loader(std::unique_ptr<runtime::DataLoader> loader) {
    if (loader != nullptr) {
      data_map_loaders_.push_back(std::move(loader));
    }
  }

  runtime::Result<std::unique_ptr<runtime::DataLoader>> open(const std::string& path) const {
    if (load_mode_ == LoadMode::File) {
      ET_ASSIGN_OR_RETURN(FileDataLoader loader, FileDataLoader::from(path.c_str()));
      return std::unique_ptr<runtime::DataLoader>(std::make_unique<FileDataLoader>(std::move(loader)));
    }
    MmapDataLoader::MlockConfig config = MmapDataLoader::MlockConfig::NoMlock;
    if (load_mode_ == LoadMode::MmapUseMlock) {
      config = MmapDataLoader::MlockConfig::UseMlock;
    } else if (load_mode_ == LoadMode::MmapUseMlockIgnoreErrors) {
      config = MmapDataLoader::MlockConfig::UseMlockIgnoreErrors;
    } else if (load_mode_ == LoadMode::MmapUseMadvise) {
      config = MmapDataLoader::MlockConfig::UseMadvise;
    }
    ET_ASSIGN_OR_RETURN(MmapDataLoader loader, MmapDataLoader::from(path.c_str(), config));
    return std::unique_ptr<runtime::DataLoader>(std::make_unique<MmapDataLoader>(std::move(loader)));
  }

  runtime::Error load_data() {
    while (data_map_loaders_.size() < data_files_.size()) {
      ET_ASSIGN_OR_RETURN(
          std::unique_ptr<runtime::DataLoader> loader, open(data_files_[data_map_loaders_.size()]));
      data_map_loaders_.push_back(std::move(loader));
    }
    while (data_maps_.size() < data_map_loaders_.size()) {
      const size_t next = data_maps_.size();
      ET_ASSIGN_OR_RETURN(
          FlatTensorDataMap map, FlatTensorDataMap::load(data_map_loaders_[next].get()), "%s",
          next < data_files_.size() ? data_files_[next].c_str() : "external data");
      data_maps_.push_back(std::make_unique<FlatTensorDataMap>(std::move(map)));
    }
    if (data_maps_.size() > 1 && merged_data_map_ == nullptr) {
      std::vector<const NamedDataMap*> maps;
      for (const auto& map : data_maps_) {
        maps.push_back(map.get());
      }
      ET_ASSIGN_OR_RETURN(
          MergedDataMap merged,
          MergedDataMap::load(runtime::Span<const NamedDataMap*>(maps.data(), maps.size())));
      merged_data_map_ = std::make_unique<MergedDataMap>(std::move(merged));
    }
    return runtime::Error::Ok;
  }

  const NamedDataMap* data_map() const {
    if (merged_data_map_ != nullptr) {
      return merged_data_map_.get();
    }
    return data_maps_.empty() ? nullptr : data_maps_.front().get();
  }

  // Memory that methods share lies on the host: a device's belongs to one of them.
  runtime::Result<bool> can_share(const MethodMeta& meta) const {
    for (size_t b = 0; b < meta.num_memory_planned_buffers(); ++b) {
      ET_ASSIGN_OR_RETURN(const runtime::etensor::Device device, meta.memory_planned_buffer_device(b));
      if (!device.is_cpu()) {
        return false;
      }
    }
    return true;
  }

  // Allocates planned buffers that are large enough for any method of the program that can share them, once.
  runtime::Error grow_arenas() {
    if (!arenas_.empty()) {
      return runtime::Error::Ok;
    }
    for (size_t i = 0; i < program_->num_methods(); ++i) {
      ET_ASSIGN_OR_RETURN(const char* name, program_->get_method_name(i));
      ET_ASSIGN_OR_RETURN(const MethodMeta meta, program_->method_meta(name));
      ET_ASSIGN_OR_RETURN(const bool shares, can_share(meta));
      const size_t count = shares ? meta.num_memory_planned_buffers() : 0;
      arenas_.resize(arenas_.size() < count ? count : arenas_.size());
      for (size_t b = 0; b < count; ++b) {
        ET_ASSIGN_OR_RETURN(const int64_t size, meta.memory_planned_buffer_size(b));
        arenas_[b].size = arenas_[b].size < static_cast<size_t>(size) ? static_cast<size_t>(size) : arenas_[b].size;
      }
    }
    for (Arena& arena : arenas_) {
      arena.memory.reset(new (std::nothrow) uint8_t[arena.size + Arena::kAlignment]());
      if (arena.memory == nullptr) {
        const size_t size = arena.size;
        arenas_.clear();
        return runtime::internal::fail(
            runtime::Error::MemoryAllocationFailed, "no memory for a planned buffer of %zu bytes", size);
      }
    }
    return runtime::Error::Ok;
  }

  // Gives a method its part of the shared planned buffers.
  runtime::Error view_arenas(const std::string& method_name, Holder& holder) const {
    ET_ASSIGN_OR_RETURN(const MethodMeta meta, program_->method_meta(method_name.c_str()));
    ET_ASSIGN_OR_RETURN(const bool shares, can_share(meta));
    ET_CHECK_OR_RETURN_ERROR(
        shares, NotSupported,
        "%s plans memory on a device, which methods cannot share: make the module without share_memory_arenas",
        method_name.c_str());
    for (size_t b = 0; b < meta.num_memory_planned_buffers(); ++b) {
      ET_ASSIGN_OR_RETURN(const int64_t size, meta.memory_planned_buffer_size(b));
      holder.buffers.emplace_back(arenas_[b].start(), static_cast<size_t>(size));
    }
    holder.planned = std::make_unique<runtime::HierarchicalAllocator>(
        runtime::Span<runtime::Span<uint8_t>>(holder.buffers.data(), holder.buffers.size()));
    return runtime::Error::Ok;
  }

  // Gives memory to the outputs that have none, where the program writes them: for programs that were exported without
  // planned outputs.
  // `set_output` replaces it.
  static runtime::Error allocate_outputs(Holder& holder) {
    for (size_t i = 0; i < holder.method->outputs_size(); ++i) {
      const runtime::EValue& output = holder.method->get_output(i);
      if (!output.isTensor() || output.toTensor().const_data_ptr() != nullptr) {
        continue;
      }
      ET_ASSIGN_OR_RETURN(const runtime::TensorInfo info, holder.method->method_meta().output_tensor_meta(i));
      if (info.is_memory_planned() || info.nbytes() == 0) {
        continue;
      }
      ET_ASSIGN_OR_RETURN(
          runtime::DeviceMemoryBuffer memory,
          runtime::DeviceMemoryBuffer::create(
              info.nbytes(), info.device().type(), info.device().index(), Arena::kAlignment),
          "output %zu of %zu bytes", i, info.nbytes());
      ET_CHECK_OK_OR_RETURN_ERROR(holder.method->set_output_data_ptr(memory.data(), info.nbytes(), i));
      holder.outputs.push_back(std::move(memory));
    }
    return runtime::Error::Ok;
  }

  static runtime::Result<std::vector<runtime::EValue>> outputs_of(Method& method) {
    std::vector<runtime::EValue> outputs(method.outputs_size());
    ET_CHECK_OK_OR_RETURN_ERROR(method.get_outputs(outputs.data(), outputs.size()));
    return outputs;
  }

  std::string file_path_;
  std::vector<std::string> data_files_;
  LoadMode load_mode_;
  std::unique_ptr<runtime::DataLoader> data_loader_;
  std::shared_ptr<Program> program_;
  std::unique_ptr<runtime::MemoryAllocator> memory_allocator_;
  std::unique_ptr<runtime::MemoryAllocator> temp_allocator_;
  std::unique_ptr<runtime::EventTracer> event_tracer_;
  std::vector<std::unique_ptr<runtime::DataLoader>> data_map_loaders_;
  std::vector<std::unique_ptr<FlatTensorDataMap>> data_maps_;
  std::unique_ptr<MergedDataMap> merged_data_map_;
  LoadBackendOptionsMap backend_options_;
  std::vector<Arena> arenas_;
  bool share_memory_arenas_;
  mutable std::recursive_mutex mutex_;

 protected:
  /// The loaded methods; destroyed before all that they use.
  std::unordered_map<std::string, std::unique_ptr<Holder>> methods_;
  /// See `debug_buffer`.
  std::vector<uint8_t> debug_buffer_;
};

} // namespace ET_MODULE_NAMESPACE

using ET_MODULE_NAMESPACE::Module;

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::extension::Module;
} // namespace executor
} // namespace torch
