// Module, Program, Method, loaders, data maps and memory, as programs of users use them.
//
//     module PROGRAMS

#include "check.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/extension/tensor/tensor.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::FileDescriptorDataLoader;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::from_blob;
using executorch::extension::make_tensor_ptr;
using executorch::extension::MallocMemoryAllocator;
using executorch::extension::MergedDataMap;
using executorch::extension::MmapDataLoader;
using executorch::extension::Module;
using executorch::extension::SharedPtrDataLoader;
using executorch::extension::TensorPtr;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::last_error_message;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::NamedDataMap;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::Tag;

namespace {

std::string programs;

std::string path(const char* name) {
  return programs + "/" + name;
}

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i % 7) * 0.25f - 0.5f;
  }
  return values;
}

std::vector<float> values_of(const EValue& value) {
  const auto& tensor = value.toTensor();
  return {tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + tensor.numel()};
}

// What the default way gives, for the other ways to be compared with.
std::vector<float> reference(const char* name, const TensorPtr& input, const char* data = "") {
  Module module(path(name), data[0] == '\0' ? std::string() : path(data));
  auto outputs = module.forward(input);
  if (!CHECK(outputs.ok())) {
    std::printf("  %s\n", last_error_message());
    return {};
  }
  return values_of(outputs->at(0));
}

std::string contents(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Error run_with_macros(Module& module, const TensorPtr& input, float* first) {
  const auto outputs = ET_UNWRAP(module.forward(input), "running %s", "forward");
  ET_CHECK_OR_RETURN_ERROR(outputs.size() == 1, Internal, "%zu outputs", outputs.size());
  ET_ASSIGN_OR_RETURN(const auto tensor, outputs[0].tryToTensor());
  *first = tensor.const_data_ptr<float>()[0];
  ET_CHECK_OK_OR_RETURN_ERROR(module.load());
  return Error::Ok;
}

void test_module() {
  Module module(path("dynamic_mlp.pte"));
  CHECK(!module.is_loaded());
  CHECK(*module.num_methods() == 1);
  CHECK(module.is_loaded());
  CHECK(module.method_names()->count("forward") == 1);
  CHECK(!module.is_method_loaded("forward"));

  const auto meta = module.method_meta("forward");
  CHECK(std::string(meta->name()) == "forward");
  CHECK(meta->num_inputs() == 1 && meta->num_outputs() == 1);
  CHECK(*meta->input_tag(0) == Tag::Tensor);
  CHECK(meta->input_tag(1).error() == Error::InvalidArgument);
  const auto input = meta->input_tensor_meta(0);
  CHECK(input->sizes().size() == 2 && input->sizes()[0] == 16 && input->sizes()[1] == 8);
  CHECK(input->dim_order()[0] == 0 && input->dim_order()[1] == 1);
  CHECK(input->scalar_type() == executorch::aten::ScalarType::Float);
  CHECK(input->nbytes() == 16 * 8 * 4);
  CHECK(meta->output_tensor_meta(0)->sizes()[1] == 4);
  CHECK(meta->num_backends() == 0 && !meta->uses_backend("XnnpackBackend"));
  CHECK(meta->num_instructions() > 0);
  CHECK(meta->num_memory_planned_buffers() > 0 && *meta->memory_planned_buffer_size(0) > 0);
  CHECK(meta->memory_planned_buffer_device(0)->is_cpu());

  // The shape follows the input.
  for (const int rows : {4, 1, 16, 3}) {
    auto x = make_tensor_ptr({rows, 8}, numbers(static_cast<size_t>(rows) * 8));
    const auto outputs = module.forward(x);
    CHECK(outputs.ok() && outputs->size() == 1);
    CHECK(outputs->at(0).toTensor().size(0) == rows && outputs->at(0).toTensor().size(1) == 4);
  }
  CHECK(module.is_method_loaded("forward"));

  // All forms of a call give the same.
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("dynamic_mlp.pte", x);
  CHECK(expected.size() == 8);
  CHECK(values_of(module.forward(std::vector<EValue>{x})->at(0)) == expected);
  CHECK(values_of(module.forward(EValue(*x))->at(0)) == expected);
  CHECK(values_of(module.execute("forward", x)->at(0)) == expected);
  CHECK(values_of(*module.get("forward", x)) == expected);
  CHECK(module.set_input(x, 0) == Error::Ok);
  CHECK(values_of(module.forward()->at(0)) == expected);
  CHECK(module.set_inputs({x}) == Error::Ok);
  CHECK(values_of(*module.get("forward")) == expected);
  CHECK(values_of(*module.get_output()) == expected);
  CHECK(values_of(module.get_outputs()->at(0)) == expected);
  float first = 0;
  CHECK(run_with_macros(module, x, &first) == Error::Ok && first == expected[0]);

  // The method can be taken out and used itself.
  Method* const method = *module.method("forward");
  CHECK(method->inputs_size() == 1 && method->outputs_size() == 1);
  CHECK(method->execute() == Error::Ok && values_of(method->get_output(0)) == expected);

  CHECK(module.unload_method("forward") && !module.unload_forward());
  CHECK(module.load_forward() == Error::Ok && module.load_method("forward") == Error::Ok);

  // A program may be shared.
  Module other(module.program());
  CHECK(values_of(other.forward(x)->at(0)) == expected);
}

void test_errors() {
  Module missing(path("there_is_none.pte"));
  CHECK(missing.load() != Error::Ok);
  CHECK_CONTAINS(last_error_message(), "there_is_none.pte");
  CHECK(missing.forward().error() != Error::Ok);
  CHECK(!missing.is_loaded());

  Module module(path("dynamic_mlp.pte"));
  CHECK(module.load_method("backward") == Error::InvalidArgument);
  CHECK_CONTAINS(last_error_message(), "backward");
  CHECK_CONTAINS(last_error_message(), "forward");
  CHECK(!module.method_meta("backward").ok());

  CHECK(module.forward(make_tensor_ptr({2, 7}, numbers(14))).error() == Error::InvalidArgument);
  CHECK_CONTAINS(last_error_message(), "7");
  CHECK(!module.forward(make_tensor_ptr({17, 8}, numbers(136))).ok());
  CHECK(!module.forward(make_tensor_ptr({2, 8}, std::vector<int64_t>(16))).ok());
  CHECK(!module.forward(make_tensor_ptr({16}, numbers(16))).ok());
  CHECK(!module.forward(EValue(1.5)).ok());
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  CHECK(module.forward({x, x}).error() == Error::InvalidArgument);
  CHECK_CONTAINS(last_error_message(), "forward takes 1 inputs, found 2");
  CHECK(module.set_inputs({x, x}) == Error::InvalidArgument);
  CHECK(module.set_input(x, 1) != Error::Ok);
  CHECK(module.set_output(EValue(1.0)) == Error::InvalidType);
  CHECK(module.set_outputs({}) == Error::InvalidArgument);
  CHECK(module.get_output(1).error() == Error::InvalidArgument);

  // A method without its inputs.
  Module unset(path("dynamic_mlp.pte"));
  CHECK(!unset.forward().ok());
  CHECK_CONTAINS(last_error_message(), "input");

  // Bytes that are no program.
  const std::string text(4096, 'x');
  Module broken(std::make_unique<BufferDataLoader>(text.data(), text.size()));
  CHECK(broken.load() == Error::InvalidProgram);
  std::string cut = contents(path("dynamic_mlp.pte"));
  cut.resize(cut.size() / 2);
  Module half(std::make_unique<BufferDataLoader>(cut.data(), cut.size()));
  CHECK(half.load() == Error::InvalidProgram);

  // The macros put their context in front of the cause.
  float first = 0;
  CHECK(run_with_macros(missing, x, &first) != Error::Ok);
  CHECK_CONTAINS(last_error_message(), "running forward: ");
  CHECK_CONTAINS(last_error_message(), "there_is_none.pte");
}

void test_outputs_of_the_caller() {
  // The outputs of this program are not planned.
  Module module(path("planned_none.pte"));
  const auto meta = module.method_meta("forward");
  if (!CHECK(meta.ok()) || !CHECK(!meta->output_tensor_meta(0)->is_memory_planned())) {
    return;
  }
  std::vector<EValue> inputs;
  std::vector<TensorPtr> tensors;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    tensors.push_back(executorch::extension::full({info->sizes().begin(), info->sizes().end()}, 0.5));
    inputs.push_back(tensors.back());
  }
  const auto sizes = meta->output_tensor_meta(0)->sizes();
  const TensorPtr output = executorch::extension::zeros({sizes.begin(), sizes.end()});
  CHECK(module.set_output(output) == Error::Ok);
  const auto outputs = module.forward(inputs);
  if (CHECK(outputs.ok())) {
    CHECK(outputs->at(0).toTensor().const_data_ptr() == output->const_data_ptr());
    CHECK(values_of(outputs->at(0)) == values_of(EValue(output)));
  } else {
    std::printf("  %s\n", last_error_message());
  }
  std::vector<float> small(1);
  CHECK(module.set_output(make_tensor_ptr({1}, small.data())) != Error::Ok);

  Module planned(path("dynamic_mlp.pte"));
  CHECK(planned.set_output(executorch::extension::zeros({16, 4})) == Error::InvalidState);
}

void test_load_modes() {
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("external_weights.pte", x, "external_weights.ptd");
  for (const auto mode :
       {Module::LoadMode::File, Module::LoadMode::Mmap, Module::LoadMode::MmapUseMlockIgnoreErrors,
        Module::LoadMode::MmapUseMadvise}) {
    Module module(path("external_weights.pte"), path("external_weights.ptd"), mode);
    const auto outputs = module.forward(x);
    CHECK(outputs.ok() && values_of(outputs->at(0)) == expected);
  }
  Module several(path("external_weights.pte"), std::vector<std::string>{path("external_weights.ptd")});
  CHECK(values_of(several.forward(x)->at(0)) == expected);
  Module with_loaders(
      std::make_unique<FileDataLoader>(*FileDataLoader::from(path("external_weights.pte").c_str())), nullptr, nullptr,
      nullptr, std::make_unique<FileDataLoader>(*FileDataLoader::from(path("external_weights.ptd").c_str())));
  CHECK(values_of(with_loaders.forward(x)->at(0)) == expected);

  Module without(path("external_weights.pte"));
  CHECK(without.load_forward() != Error::Ok);
  CHECK_CONTAINS(last_error_message(), ".ptd");
  Module twice(
      path("external_weights.pte"),
      std::vector<std::string>{path("external_weights.ptd"), path("external_weights.ptd")});
  CHECK(twice.load() == Error::InvalidArgument);
  Module not_data(path("external_weights.pte"), path("external_weights.pte"));
  CHECK(not_data.load() == Error::InvalidExternalData);
  CHECK_CONTAINS(last_error_message(), "external_weights.pte");
}

// A loader of a user, which counts what it is asked for.
class CountingLoader final : public DataLoader {
 public:
  CountingLoader(std::string bytes, std::atomic<int>* loads, std::atomic<int>* frees)
      : bytes_(std::move(bytes)), loads_(loads), frees_(frees) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    ET_CHECK_OR_RETURN_ERROR(
        offset <= bytes_.size() && size <= bytes_.size() - offset, InvalidArgument, "%zu bytes at %zu", size, offset);
    void* memory = std::aligned_alloc(64, (size + 63) / 64 * 64);
    if (size != 0) {
      std::memcpy(memory, bytes_.data() + offset, size);
    }
    ++*loads_;
    return FreeableBuffer(
        memory, size,
        [](void* context, void* data, size_t) {
          ++*static_cast<std::atomic<int>*>(context);
          std::free(data);
        },
        frees_);
  }

  Result<size_t> size() const override {
    return bytes_.size();
  }

 private:
  std::string bytes_;
  std::atomic<int>* loads_;
  std::atomic<int>* frees_;
};

// A loader that fails when it is read.
class FailingLoader final : public DataLoader {
 public:
  Result<FreeableBuffer> load(size_t, size_t, const SegmentInfo&) const override {
    return executorch::runtime::internal::fail(Error::AccessFailed, "%s", "the disk is on fire");
  }

  Result<size_t> size() const override {
    return size_t{1} << 20;
  }
};

void test_loaders() {
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("dynamic_mlp.pte", x);
  const std::string file = path("dynamic_mlp.pte");
  const auto run = [&](std::unique_ptr<DataLoader> loader) {
    Module module(std::move(loader));
    const auto outputs = module.forward(x);
    return outputs.ok() && values_of(outputs->at(0)) == expected;
  };

  std::atomic<int> loads{0}, frees{0};
  CHECK(run(std::make_unique<CountingLoader>(contents(file), &loads, &frees)));
  CHECK(loads > 0 && loads == frees);

  Module failing(std::make_unique<FailingLoader>());
  CHECK(failing.load() == Error::AccessFailed);
  CHECK_CONTAINS(last_error_message(), "the disk is on fire");

  const std::string bytes = contents(file);
  std::shared_ptr<void> shared(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64), std::free);
  std::memcpy(shared.get(), bytes.data(), bytes.size());
  CHECK(run(std::make_unique<BufferDataLoader>(shared.get(), bytes.size())));
  CHECK(run(std::make_unique<SharedPtrDataLoader>(shared, bytes.size())));
  CHECK(shared.use_count() == 1);
  CHECK(run(std::make_unique<MmapDataLoader>(
      *MmapDataLoader::from(file.c_str(), MmapDataLoader::MlockConfig::NoMlock))));
  const int descriptor = open(file.c_str(), O_RDONLY);
  CHECK(run(std::make_unique<FileDescriptorDataLoader>(
      *FileDescriptorDataLoader::fromFileDescriptorUri(("fd:///" + std::to_string(descriptor)).c_str()))));
  close(descriptor);
  CHECK(FileDescriptorDataLoader::fromFileDescriptorUri("file:///x").error() == Error::InvalidArgument);
  CHECK(!FileDataLoader::from(path("there_is_none").c_str()).ok());
  CHECK(FileDataLoader::from(file.c_str(), 3).error() == Error::InvalidArgument);

  // A loader on its own.
  const auto loader = FileDataLoader::from(file.c_str());
  const DataLoader::SegmentInfo info(DataLoader::SegmentInfo::Type::Program);
  CHECK(*loader->size() == bytes.size());
  const auto head = loader->load(0, Program::kMinHeadBytes, info);
  CHECK(head.ok() && std::memcmp(head->data(), bytes.data(), head->size()) == 0);
  CHECK(Program::check_header(head->data(), head->size()) == Program::CompatibleVersion);
  CHECK(Program::check_header(head->data(), 8) == Program::ShortData);
  CHECK(Program::check_header(numbers(16).data(), 64) == Program::NotPresent);
  char part[16];
  CHECK(loader->load_into(16, sizeof part, info, part) == Error::Ok);
  CHECK(std::memcmp(part, bytes.data() + 16, sizeof part) == 0);
  CHECK(!loader->load(bytes.size(), 1, info).ok());
}

// The tensors of a .ptd file, served by the user's own map.
class OwnMap final : public NamedDataMap {
 public:
  explicit OwnMap(const NamedDataMap& from) : from_(from) {}

  Result<const executorch::runtime::TensorLayout> get_tensor_layout(std::string_view key) const override {
    return from_.get_tensor_layout(key);
  }
  Result<FreeableBuffer> get_data(std::string_view key) const override {
    return from_.get_data(key);
  }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    return from_.load_data_into(key, buffer, size);
  }
  Result<uint32_t> get_num_keys() const override {
    return from_.get_num_keys();
  }
  Result<const char*> get_key(uint32_t index) const override {
    return from_.get_key(index);
  }

 private:
  const NamedDataMap& from_;
};

void test_data_maps() {
  auto loader = *FileDataLoader::from(path("external_weights.ptd").c_str());
  auto map = FlatTensorDataMap::load(&loader);
  if (!CHECK(map.ok())) {
    return;
  }
  const uint32_t keys = *map->get_num_keys();
  CHECK(keys > 0);
  for (uint32_t i = 0; i < keys; ++i) {
    const char* key = *map->get_key(i);
    const auto layout = map->get_tensor_layout(key);
    const auto data = map->get_data(key);
    CHECK(layout.ok() && data.ok() && data->size() >= layout->nbytes());
    CHECK(layout->scalar_type() == executorch::aten::ScalarType::Float);
    std::vector<uint8_t> copy(layout->nbytes());
    CHECK(map->load_data_into(key, copy.data(), copy.size()) == Error::Ok);
    CHECK(std::memcmp(copy.data(), data->data(), copy.size()) == 0);
  }
  CHECK(map->get_key(keys).error() == Error::InvalidArgument);
  CHECK(map->get_data("no such key").error() == Error::NotFound);

  const NamedDataMap* twice[] = {&*map, &*map};
  CHECK(MergedDataMap::load({twice, 2}).error() == Error::InvalidArgument);
  const NamedDataMap* once[] = {&*map};
  const auto merged = MergedDataMap::load({once, 1});
  CHECK(merged.ok() && *merged->get_num_keys() == keys);

  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("external_weights.pte", x, "external_weights.ptd");
  auto program_loader = *FileDataLoader::from(path("external_weights.pte").c_str());
  auto program = Program::load(&program_loader);
  const OwnMap own(*map);
  for (const NamedDataMap* each : {static_cast<const NamedDataMap*>(&*map), static_cast<const NamedDataMap*>(&own)}) {
    auto method = program->load_method("forward", nullptr, nullptr, each);
    if (CHECK(method.ok())) {
      CHECK(method->set_input(x, 0) == Error::Ok && method->execute() == Error::Ok);
      CHECK(values_of(method->get_output(0)) == expected);
    } else {
      std::printf("  %s\n", last_error_message());
    }
  }
  CHECK((*program->get_named_data_map())->get_num_keys().ok());
}

// Buffers of the sizes that the method's metadata asks for.
struct PlannedBuffers {
  explicit PlannedBuffers(const MethodMeta& meta, size_t missing = 0) {
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      const auto size = static_cast<size_t>(*meta.memory_planned_buffer_size(i)) - missing;
      memory.emplace_back(size + 64);
      uint8_t* start = memory.back().data();
      spans.emplace_back(start + (-reinterpret_cast<uintptr_t>(start) & 63), size);
    }
  }
  std::vector<std::vector<uint8_t>> memory;
  std::vector<Span<uint8_t>> spans;
};

void test_program() {
  auto loader = *FileDataLoader::from(path("dynamic_mlp.pte").c_str());
  auto loaded = Program::load(&loader, Program::Verification::InternalConsistency);
  if (!CHECK(loaded.ok())) {
    return;
  }
  const Program program = std::move(*loaded);
  CHECK(program.num_methods() == 1 && std::string(*program.get_method_name(0)) == "forward");
  CHECK(program.get_method_name(1).error() == Error::InvalidArgument);
  CHECK(program.get_output_flattening_encoding().ok());
  CHECK(Program::load(nullptr).error() == Error::InvalidArgument);
  const auto meta = *program.method_meta("forward");

  PlannedBuffers planned(meta);
  HierarchicalAllocator hierarchy({planned.spans.data(), planned.spans.size()});
  std::vector<uint8_t> pool(1 << 16), temp_pool(1 << 16);
  MemoryAllocator method_allocator(static_cast<uint32_t>(pool.size()), pool.data());
  MemoryAllocator temp_allocator(static_cast<uint32_t>(temp_pool.size()), temp_pool.data());
  MemoryManager memory(&method_allocator, &hierarchy, &temp_allocator);
  CHECK(!memory.has_device_memory());
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("dynamic_mlp.pte", x);
  {
    auto method = program.load_method("forward", &memory);
    if (!CHECK(method.ok())) {
      std::printf("  %s\n", last_error_message());
      return;
    }
    CHECK(method->set_inputs(std::vector<EValue>{x}) == Error::Ok);
    CHECK(method->execute() == Error::Ok);
    CHECK(values_of(method->get_output(0)) == expected);
    // The output lies in the buffers that were given.
    const auto* data = static_cast<const uint8_t*>(method->get_output(0).toTensor().const_data_ptr());
    CHECK(std::any_of(planned.spans.begin(), planned.spans.end(), [&](Span<uint8_t> span) {
      return data >= span.begin() && data < span.end();
    }));

    // Step by step, twice.
    for (int round = 0; round < 2; ++round) {
      size_t steps = 0;
      Error error = Error::Ok;
      while ((error = method->step()) == Error::Ok) {
        ++steps;
      }
      // Calls on constants alone have run at load.
      CHECK(error == Error::EndOfMethod && steps > 0 && steps <= meta.num_instructions());
      CHECK(values_of(method->get_output(0)) == expected);
      CHECK(method->reset_execution() == Error::Ok);
    }
    EValue outputs[3];
    CHECK(method->get_outputs(outputs, 3) == Error::Ok);
    CHECK(outputs[0].isTensor() && outputs[1].isNone() && outputs[2].isNone());
    CHECK(method->get_outputs(outputs, 0) == Error::InvalidArgument);
    CHECK(method->get_attribute("none").error() == Error::NotFound);
    CHECK(std::string(method->method_meta().name()) == "forward");
    // A method may be moved.
    Method moved(std::move(*method));
    CHECK(moved.execute() == Error::Ok && values_of(moved.get_output(0)) == expected);
  }

  PlannedBuffers small(meta, 1);
  HierarchicalAllocator too_small({small.spans.data(), small.spans.size()});
  MemoryManager little(&method_allocator, &too_small);
  CHECK(!program.load_method("forward", &little).ok());
  CHECK_CONTAINS(last_error_message(), "bytes");
}

void test_shared_arenas() {
  Module apart(path("methods.pte"));
  Module together(path("methods.pte"), Module::LoadMode::File, nullptr, nullptr, nullptr, true);
  auto x = make_tensor_ptr({2, 6}, numbers(12));
  for (const char* method : {"forward", "doubled", "forward"}) {
    const auto a = apart.execute(method, x);
    const auto b = together.execute(method, x);
    if (CHECK(a.ok() && b.ok())) {
      CHECK(values_of(a->at(0)) == values_of(b->at(0)));
    } else {
      std::printf("  %s\n", last_error_message());
    }
  }
}

void test_allocators_of_the_caller() {
  Module module(
      path("dynamic_mlp.pte"), Module::LoadMode::File, nullptr, std::make_unique<MallocMemoryAllocator>(),
      std::make_unique<MallocMemoryAllocator>());
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("dynamic_mlp.pte", x);
  for (int i = 0; i < 3; ++i) {
    const auto outputs = module.forward(x);
    CHECK(outputs.ok() && values_of(outputs->at(0)) == expected);
  }
}

int relu_calls = 0;

// A kernel of the user: writes zeros, whatever comes in.
void zero_relu(executorch::runtime::KernelRuntimeContext& context, Span<EValue*> args) {
  ++relu_calls;
  const auto& in = args[0]->toTensor();
  auto& out = args[1]->toTensor();
  if (executorch::runtime::resize_tensor(out, in.sizes()) != Error::Ok || !context.allocate_temp(64, 64).ok()) {
    context.fail(Error::Internal);
    return;
  }
  std::fill_n(out.mutable_data_ptr<float>(), out.numel(), 0.0f);
}

void failing_relu(executorch::runtime::KernelRuntimeContext& context, Span<EValue*>) {
  context.fail(Error::NotSupported);
}

void test_kernels_of_the_caller() {
  auto x = make_tensor_ptr({2, 8}, numbers(16)), other = executorch::extension::ones({2, 8});
  Module module(path("dynamic_mlp.pte"));
  CHECK(
      module.load_forward(nullptr, nullptr, nullptr, {executorch::runtime::Kernel("aten::relu.out", zero_relu)}) ==
      Error::Ok);
  const auto first = module.forward(x);
  if (!CHECK(first.ok())) {
    std::printf("  %s\n", last_error_message());
    return;
  }
  const std::vector<float> bias = values_of(first->at(0));
  // Behind zeros, only the bias of the last layer is left: the same in each row, for any input.
  CHECK(relu_calls > 0 && values_of(module.forward(other)->at(0)) == bias);
  CHECK(std::equal(bias.begin(), bias.begin() + 4, bias.begin() + 4));
  CHECK(bias != reference("dynamic_mlp.pte", x));

  Module failing(path("dynamic_mlp.pte"));
  CHECK(
      failing.load_forward(nullptr, nullptr, nullptr, {executorch::runtime::Kernel("aten::relu.out", failing_relu)}) ==
      Error::Ok);
  CHECK(failing.forward(x).error() == Error::NotSupported);
  CHECK_CONTAINS(last_error_message(), "aten::relu.out");
}

// A tracer of the user, which counts.
class CountingTracer final : public executorch::runtime::EventTracer {
 public:
  struct Counts {
    int blocks = 0, begun = 0, ended = 0, values = 0;
  };

  explicit CountingTracer(Counts* counts) : counts_(counts) {
    set_event_tracer_debug_level(executorch::runtime::EventTracerDebugLogLevel::kProgramOutputs);
  }

  void create_event_block(const char*) override {
    ++counts_->blocks;
  }
  executorch::runtime::EventTracerEntry start_profiling(
      const char* name,
      executorch::runtime::ChainID chain,
      executorch::runtime::DebugHandle handle) override {
    CHECK(name != nullptr && name[0] != '\0');
    executorch::runtime::EventTracerEntry entry{};
    entry.event_id = ++counts_->begun;
    entry.chain_id = chain;
    entry.debug_handle = handle;
    return entry;
  }
  executorch::runtime::EventTracerEntry start_profiling_delegate(const char*, executorch::runtime::DelegateDebugIntId)
      override {
    return {};
  }
  void end_profiling_delegate(executorch::runtime::EventTracerEntry, const void*, size_t) override {}
  void log_profiling_delegate(
      const char*,
      executorch::runtime::DelegateDebugIntId,
      et_timestamp_t,
      et_timestamp_t,
      const void*,
      size_t) override {}
  void end_profiling(executorch::runtime::EventTracerEntry entry) override {
    CHECK(entry.event_id > 0 && entry.event_id <= counts_->begun);
    ++counts_->ended;
  }
  void track_allocation(executorch::runtime::AllocatorID, size_t) override {}
  executorch::runtime::AllocatorID track_allocator(const char*) override {
    return 0;
  }
  Result<bool> log_evalue(const EValue& value, executorch::runtime::LoggedEValueType type) override {
    CHECK(value.isTensor() && type == executorch::runtime::LoggedEValueType::kProgramOutput);
    ++counts_->values;
    return true;
  }
  Result<bool> log_intermediate_output_delegate(
      const char*,
      executorch::runtime::DelegateDebugIntId,
      const executorch::aten::Tensor&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(
      const char*,
      executorch::runtime::DelegateDebugIntId,
      const executorch::aten::ArrayRef<executorch::aten::Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, executorch::runtime::DelegateDebugIntId, const int&)
      override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, executorch::runtime::DelegateDebugIntId, const bool&)
      override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, executorch::runtime::DelegateDebugIntId, const double&)
      override {
    return false;
  }
  void set_delegation_intermediate_output_filter(executorch::runtime::EventTracerFilterBase*) override {}

 private:
  Counts* counts_;
};

void test_tracers_of_the_caller() {
  CountingTracer::Counts counts;
  Module module(path("dynamic_mlp.pte"), Module::LoadMode::File, std::make_unique<CountingTracer>(&counts));
  CHECK(module.event_tracer() != nullptr);
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  CHECK(module.load_forward() == Error::Ok);
  const CountingTracer::Counts loaded = counts;
  CHECK(module.forward(x).ok());
  CHECK(counts.blocks > loaded.blocks && counts.begun > loaded.begun && counts.begun == counts.ended);
  CHECK(counts.values == 1);
  CHECK((*module.method("forward"))->get_event_tracer() == module.event_tracer());
}

// Each thread has its own module over one program.
void test_threads() {
  auto loader = std::make_shared<FileDataLoader>(*FileDataLoader::from(path("dynamic_mlp.pte").c_str()));
  auto program = std::make_shared<Program>(*Program::load(loader.get()));
  auto x = make_tensor_ptr({2, 8}, numbers(16));
  const std::vector<float> expected = reference("dynamic_mlp.pte", x);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Module module(program);
      auto mine = make_tensor_ptr({2, 8}, numbers(16));
      for (int i = 0; i < 50; ++i) {
        const auto outputs = module.forward(mine);
        good += outputs.ok() && values_of(outputs->at(0)) == expected;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(good == 200);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: %s PROGRAMS\n", argv[0]);
    return 2;
  }
  programs = argv[1];
  test_module();
  test_errors();
  test_outputs_of_the_caller();
  test_load_modes();
  test_loaders();
  test_data_maps();
  test_program();
  test_shared_arenas();
  test_allocators_of_the_caller();
  test_kernels_of_the_caller();
  test_tracers_of_the_caller();
  test_threads();
  return finish();
}
