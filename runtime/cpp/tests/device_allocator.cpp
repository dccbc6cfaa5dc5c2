// A device allocator that is written in C++.
#include "check.h"

#include <cstdlib>
#include <string>

#include <executorch/c/registration.h>
#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/device_memory_buffer.h>

using executorch::runtime::DeviceAllocator;
using executorch::runtime::DeviceMemoryBuffer;
using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::etensor::DeviceIndex;
using executorch::runtime::etensor::DeviceType;

namespace {

// Its device's memory is the host's.
class Heap final : public DeviceAllocator {
 public:
  Result<void*> allocate(size_t nbytes, DeviceIndex index, size_t alignment = kDefaultAlignment) override {
    ET_CHECK_OR_RETURN_ERROR(index == 0, InvalidArgument, "there is no device %d", index);
    void* data = nullptr;
    ET_CHECK_OR_RETURN_ERROR(posix_memalign(&data, alignment, nbytes) == 0, MemoryAllocationFailed, "%s", "no memory");
    ++alive;
    return data;
  }

  void deallocate(void* ptr, DeviceIndex) override {
    --alive;
    std::free(ptr);
  }

  Error copy_host_to_device(void* dst, const void* src, size_t nbytes, DeviceIndex) override {
    std::memcpy(dst, src, nbytes);
    return Error::Ok;
  }

  Error copy_device_to_host(void* dst, const void* src, size_t nbytes, DeviceIndex) override {
    std::memcpy(dst, src, nbytes);
    ++copies_to_host;
    return Error::Ok;
  }

  DeviceType device_type() const override {
    return DeviceType::CUDA;
  }

  int alive = 0;
  int copies_to_host = 0;
};

} // namespace

int main() {
  CHECK(DeviceMemoryBuffer::create(8, DeviceType::CUDA).error() == Error::NotFound);
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "libexecutorch_backend_cuda.so.1");
  CHECK(executorch::runtime::get_device_allocator(DeviceType::CUDA) == nullptr);

  static Heap first, second;
  executorch::runtime::register_device_allocator(&first);
  executorch::runtime::register_device_allocator(&first);
  CHECK(et_registration_error_count() == 0);
  CHECK(executorch::runtime::get_device_allocator(DeviceType::CUDA) == &first);
  executorch::runtime::register_device_allocator(&second);
  CHECK(et_registration_error_count() == 1);
  CHECK_CONTAINS(et_registration_error(0), "registered already");
  CHECK(executorch::runtime::DeviceAllocatorRegistry::instance().get_allocator(DeviceType::CUDA) == &first);
  executorch::runtime::register_device_allocator(nullptr);

  CHECK(DeviceMemoryBuffer::create(8, DeviceType::CUDA, 1).error() == Error::InvalidArgument);
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "there is no device 1");
  {
    Result<DeviceMemoryBuffer> one = DeviceMemoryBuffer::create(8, DeviceType::CUDA, 0, 64);
    Result<DeviceMemoryBuffer> two = DeviceMemoryBuffer::create(8, DeviceType::CUDA);
    CHECK(one.ok() && two.ok() && first.alive == 2);
    const double number = 47.11;
    double back = 0;
    CHECK(et_device_copy(one->data(), ET_DEVICE_CUDA, 0, &number, ET_DEVICE_CPU, 0, 8) == ET_OK);
    // The allocator cannot copy on the device: the copy goes through the host.
    CHECK(et_device_copy(two->data(), ET_DEVICE_CUDA, 0, one->data(), ET_DEVICE_CUDA, 0, 8) == ET_OK);
    CHECK(first.copies_to_host == 1);
    CHECK(et_device_copy(&back, ET_DEVICE_CPU, 0, two->data(), ET_DEVICE_CUDA, 0, 8) == ET_OK && back == number);
    CHECK(et_device_synchronize(ET_DEVICE_CUDA, 0) == ET_OK);
    CHECK(et_device_copy(&back, ET_DEVICE_CPU, 0, nullptr, ET_DEVICE_CUDA, 0, 8) == ET_ERROR_INVALID_ARGUMENT);
  }
  CHECK(first.alive == 0);
  return finish();
}
