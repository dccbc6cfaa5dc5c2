// Programs with memory on a device, with the device that every machine has (runtime/core/tests/device/fake.c): a read or
// write of its memory by the host ends the process.
#include "check.h"

#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/program.h>

#include "../../core/tests/device/fake.h"

using executorch::aten::Device;
using executorch::aten::DeviceType;
using executorch::extension::clone_tensor_ptr_to;
using executorch::extension::FileDataLoader;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::DeviceMemoryBuffer;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::last_error_message;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

static std::string folder;

static const std::vector<float> kA = {0, 1, 2, 3, 4, 5, 6, 7};
static const std::vector<float> kB = {0.5, -1, 2.25, 0, 8, -3.5, 1, 4};

static std::string file(const char* name) {
  return folder + "/" + name + ".pte";
}

static fake_counts_t counts() {
  fake_counts_t found;
  fake_counts(&found);
  return found;
}

static std::vector<float> between() {
  std::vector<float> out;
  for (size_t i = 0; i < kA.size(); ++i) {
    out.push_back((kA[i] * kB[i] + kB[i]) * kA[i]);
  }
  return out;
}

static std::vector<float> sums() {
  std::vector<float> out;
  for (size_t i = 0; i < kA.size(); ++i) {
    out.push_back(kA[i] + kB[i]);
  }
  return out;
}

static std::vector<EValue> host_inputs() {
  static const TensorPtr a = make_tensor_ptr({2, 4}, kA), b = make_tensor_ptr({2, 4}, kB);
  return {EValue(a), EValue(b)};
}

static std::vector<float> values(const executorch::aten::Tensor& tensor) {
  if (!CHECK(tensor.device().is_cpu())) {
    return {};
  }
  return {tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + tensor.numel()};
}

// The numbers of a tensor on a device.
static std::vector<float> fetched(const executorch::aten::Tensor& tensor) {
  if (!CHECK(!tensor.device().is_cpu())) {
    return {};
  }
  return values(*clone_tensor_ptr_to(make_tensor_ptr(tensor), DeviceType::CPU));
}

static void copies() {
  for (const char* name : {"device_copies", "device_given"}) {
    Module module(file(name));
    for (int i = 0; i < 2; ++i) {
      const Result<std::vector<EValue>> outputs = module.forward(host_inputs());
      if (CHECK(outputs.ok())) {
        CHECK(values((*outputs)[0].toTensor()) == between());
      }
    }
    CHECK(counts().alive == 1);
  }
  CHECK(counts().alive == 0);
}

static void shared_arenas() {
  Module module(file("device_methods"), Module::LoadMode::File, nullptr, nullptr, nullptr, true);
  CHECK(module.load_method("forward") == Error::NotSupported);
  CHECK_CONTAINS(last_error_message(), "share_memory_arenas");
  const Result<std::vector<EValue>> outputs = module.execute("host", host_inputs());
  if (CHECK(outputs.ok())) {
    CHECK(values((*outputs)[0].toTensor()) == between());
  }
  CHECK(counts().alive == 0);
  Module separate(file("device_methods"));
  CHECK(separate.load_method("forward") == Error::Ok);
  CHECK(separate.load_method("again") == Error::Ok);
  CHECK(counts().alive == 2);
  CHECK(separate.unload_method("again"));
  CHECK(counts().alive == 1);
}

static void resident() {
  const TensorPtr a = clone_tensor_ptr_to(make_tensor_ptr({2, 4}, kA), Device(DeviceType::CUDA, 0));
  const TensorPtr b = clone_tensor_ptr_to(make_tensor_ptr({2, 4}, kB), DeviceType::CUDA);
  CHECK(a->device() == Device(DeviceType::CUDA, 0));
  const fake_counts_t before = counts();
  Module module(file("device_resident"));
  // The module gives the output memory where the program writes it.
  const Result<std::vector<EValue>> outputs = module.forward({EValue(a), EValue(b)});
  if (!CHECK(outputs.ok())) {
    return;
  }
  const executorch::aten::Tensor own = (*outputs)[0].toTensor();
  CHECK(own.device() == Device(DeviceType::CUDA, 0) && own.device_type() == DeviceType::CUDA);
  CHECK(counts().to_host == before.to_host && counts().to_device == before.to_device);
  CHECK(fetched(own) == sums());
  // Memory of the caller.
  Result<DeviceMemoryBuffer> memory = DeviceMemoryBuffer::create(32, DeviceType::CUDA, 0);
  CHECK(memory.ok());
  const TensorPtr out = make_tensor_ptr(
      {2, 4}, memory->data(), executorch::aten::ScalarType::Float, Device(DeviceType::CUDA, 0));
  CHECK(module.set_output(out) == Error::Ok);
  const Result<std::vector<EValue>> again = module.forward({EValue(a), EValue(b)});
  CHECK(again.ok() && (*again)[0].toTensor().const_data_ptr() == memory->data());
  CHECK(fetched(*out) == sums());
  // Another device.
  const TensorPtr away = clone_tensor_ptr_to(make_tensor_ptr({2, 4}, kA), Device(DeviceType::CUDA, 1));
  CHECK(module.set_output(away) == Error::InvalidArgument);
  CHECK_CONTAINS(last_error_message(), "device 1 of type 1");
  CHECK(module.forward({EValue(away), EValue(b)}).error() == Error::InvalidArgument);
  // The host's memory.
  CHECK(module.forward(host_inputs()).error() == Error::InvalidArgument);
  CHECK(module.forward({EValue(a), EValue(b)}).ok());
}

static void wrong_places() {
  const TensorPtr a = clone_tensor_ptr_to(make_tensor_ptr({2, 4}, kA), DeviceType::CUDA);
  const TensorPtr b = make_tensor_ptr({2, 4}, kB);
  Module copied(file("device_copies"));
  CHECK(copied.forward({EValue(a), EValue(b)}).error() == Error::NotSupported);
  CHECK_CONTAINS(last_error_message(), "MemoryPlanningPass(alloc_graph_input=False)");
  Module given(file("device_given"));
  CHECK(given.forward({EValue(a), EValue(b)}).error() == Error::NotSupported);
  CHECK_CONTAINS(last_error_message(), "aten::mul.out");
  CHECK_CONTAINS(last_error_message(), "argument 0");
  Module planned(file("device_planned"));
  CHECK(planned.forward({EValue(a), EValue(a)}).error() == Error::NotSupported);
  CHECK_CONTAINS(last_error_message(), "MemoryPlanningPass(alloc_graph_input=False)");
}

// As a program without Module does it: every buffer is the caller's.
static void memory_of_the_caller() {
  Result<FileDataLoader> loader = FileDataLoader::from(file("device_two").c_str());
  CHECK(loader.ok());
  const Result<Program> program = Program::load(&*loader);
  CHECK(program.ok());
  const Result<MethodMeta> meta = program->method_meta("forward");
  CHECK(meta.ok());
  CHECK(meta->memory_planned_buffer_device(9).error() == Error::InvalidArgument);
  CHECK(meta->input_tensor_meta(0)->device().is_cpu());
  std::vector<DeviceMemoryBuffer> owned;
  std::vector<Span<uint8_t>> spans;
  std::vector<Device> devices;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    devices.push_back(*meta->memory_planned_buffer_device(i));
    Result<DeviceMemoryBuffer> buffer = DeviceMemoryBuffer::create(
        static_cast<size_t>(*meta->memory_planned_buffer_size(i)), devices[i].type(), devices[i].index(), 64);
    if (!CHECK(buffer.ok())) {
      return;
    }
    owned.push_back(std::move(*buffer));
    spans.push_back(owned[i].as_span());
  }
  const std::vector<Device> expected = {DeviceType::CPU, DeviceType::CUDA, Device(DeviceType::CUDA, 1)};
  CHECK(devices == expected);
  HierarchicalAllocator planned({spans.data(), spans.size()}, {devices.data(), devices.size()});
  MemoryManager manager(nullptr, &planned);
  CHECK(manager.has_device_memory() && manager.planned_buffer_devices().size() == 3);
  const int64_t allocations = counts().allocations;
  {
    Result<Method> method = program->load_method("forward", &manager);
    if (!CHECK(method.ok())) {
      return;
    }
    const std::vector<EValue> inputs = host_inputs();
    CHECK(method->set_inputs({inputs.data(), inputs.size()}) == Error::Ok);
    CHECK(method->execute() == Error::Ok);
    std::vector<float> wanted = sums();
    for (size_t i = 0; i < kB.size(); ++i) {
      wanted[i] += kB[i];
    }
    CHECK(values(method->get_output(0).toTensor()) == wanted);
  }
  CHECK(counts().allocations == allocations && counts().alive == 2);
  // Host memory where the program plans a device's.
  std::swap(spans[0], spans[1]);
  std::swap(devices[0], devices[1]);
  CHECK(program->load_method("forward", &manager).error() == Error::InvalidArgument);
  CHECK_CONTAINS(last_error_message(), "planned buffer 0");
}

static void buffers() {
  {
    Result<DeviceMemoryBuffer> made = DeviceMemoryBuffer::create(100, DeviceType::CUDA, 1, 256);
    CHECK(made.ok() && made->size() == 100 && made->as_span().data() == made->data());
    DeviceMemoryBuffer moved(std::move(*made));
    CHECK(made->data() == nullptr && made->size() == 0 && moved.size() == 100);
    Result<DeviceMemoryBuffer> other = DeviceMemoryBuffer::create(8, DeviceType::CUDA);
    moved = std::move(*other);
    CHECK(counts().alive == 1 && moved.size() == 8);
    CHECK(DeviceMemoryBuffer().data() == nullptr);
  }
  CHECK(DeviceMemoryBuffer::create(8, DeviceType::CUDA, 7).error() == Error::InvalidArgument);
  CHECK(DeviceMemoryBuffer::create(8, DeviceType::CUDA, 0, 3).error() == Error::InvalidArgument);
  CHECK(DeviceMemoryBuffer::create(0, DeviceType::CUDA).ok());
  fake_fail_allocation(0);
  CHECK(DeviceMemoryBuffer::create(8, DeviceType::CUDA).error() == Error::MemoryAllocationFailed);
  fake_fail_allocation(0);
  Module module(file("device_resident"));
  CHECK(module.load_forward() == Error::MemoryAllocationFailed);
  CHECK(!module.is_method_loaded("forward") && module.load_forward() == Error::Ok);
}

static void allocators() {
  executorch::runtime::DeviceAllocator* cuda = executorch::runtime::get_device_allocator(DeviceType::CUDA);
  CHECK(executorch::runtime::get_device_allocator(DeviceType::CPU) == nullptr);
  if (!CHECK(cuda != nullptr && cuda->device_type() == DeviceType::CUDA)) {
    return;
  }
  Result<void*> data = cuda->allocate(8, 1);
  CHECK(data.ok());
  const uint64_t number = 4711;
  uint64_t back = 0;
  CHECK(cuda->copy_host_to_device(*data, &number, 8, 1) == Error::Ok);
  CHECK(cuda->copy_device_to_host(&back, *data, 8, 1) == Error::Ok && back == number);
  CHECK(cuda->copy_device_to_host(&back, *data, 9, 1) != Error::Ok);
  CHECK(cuda->copy_host_to_device(*data, &number, 8, 0) != Error::Ok);
  cuda->deallocate(*data, 1);
}

int main(int, char** arguments) {
  folder = arguments[1];
  copies();
  shared_arenas();
  resident();
  wrong_places();
  memory_of_the_caller();
  buffers();
  allocators();
  const fake_counts_t found = counts();
  CHECK(found.alive == 0 && found.bytes == 0 && found.bad_frees == 0 && found.handles == 0);
  return finish();
}
