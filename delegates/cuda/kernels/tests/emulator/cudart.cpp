// libcudart.so.12 of the emulated GPU: its memory is the host's, everything is done at once. One device, or two by the environment
// variable EMULATED_DEVICES.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

std::mutex lock;
// Start of each allocation, and its size.
std::map<std::uintptr_t, std::size_t> allocations;
long streams = 0;
thread_local int current = 0;

int devices() {
  const char* text = std::getenv("EMULATED_DEVICES");
  return text ? std::atoi(text) : 1;
}

constexpr int INVALID_VALUE = 1;
constexpr int OUT_OF_MEMORY = 2;
constexpr int INVALID_DEVICE = 101;
constexpr int NOT_SUPPORTED = 801;
// More than this at once is more than the emulated device has.
constexpr std::size_t MEMORY = std::size_t(1) << 34;

// Whether all of a range lies in one allocation.
bool on_device(const void* data, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(lock);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  auto found = allocations.upper_bound(address);
  if (found == allocations.begin()) {
    return false;
  }
  --found;
  return address + bytes <= found->first + found->second;
}

} // namespace

extern "C" {

struct Attributes {
  int kind;
  int device;
  void* device_pointer;
  void* host_pointer;
};

int cudaRuntimeGetVersion(int* version) {
  *version = 12060;
  return 0;
}

const char* cudaGetErrorName(int code) {
  return code == OUT_OF_MEMORY ? "cudaErrorMemoryAllocation" : "cudaErrorEmulated";
}

const char* cudaGetErrorString(int code) {
  return code == OUT_OF_MEMORY ? "out of memory" : "an error of the emulator";
}

int cudaGetLastError() {
  return 0;
}

int cudaGetDeviceCount(int* count) {
  *count = devices();
  return 0;
}

int cudaGetDevice(int* device) {
  *device = current;
  return 0;
}

int cudaSetDevice(int device) {
  if (device < 0 || device >= devices()) {
    return INVALID_DEVICE;
  }
  current = device;
  return 0;
}

int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device >= devices()) {
    return INVALID_DEVICE;
  }
  *value = attribute == 75 ? 9 : attribute == 16 ? 4 : 0;
  return 0;
}

int cudaDeviceSynchronize() {
  return 0;
}

int cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  *available = *total = MEMORY;
  return 0;
}

int cudaMalloc(void** data, std::size_t bytes) {
  void* made = bytes > MEMORY ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!made) {
    return OUT_OF_MEMORY;
  }
  const std::lock_guard<std::mutex> guard(lock);
  allocations[reinterpret_cast<std::uintptr_t>(made)] = bytes;
  std::memset(made, 0xa5, bytes);
  *data = made;
  return 0;
}

int cudaFree(void* data) {
  if (!data) {
    return 0;
  }
  {
    const std::lock_guard<std::mutex> guard(lock);
    if (allocations.erase(reinterpret_cast<std::uintptr_t>(data)) == 0) {
      return INVALID_VALUE;
    }
  }
  std::free(data);
  return 0;
}

int cudaMallocAsync(void** data, std::size_t bytes, void*) {
  return cudaMalloc(data, bytes);
}

int cudaFreeAsync(void* data, void*) {
  return cudaFree(data);
}

int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void*) {
  const bool to_device = kind == 1 || kind == 3;
  const bool from_device = kind == 2 || kind == 3;
  if (kind != 4 && (on_device(to, bytes) != to_device || on_device(from, bytes) != from_device)) {
    return INVALID_VALUE;
  }
  std::memmove(to, from, bytes);
  return 0;
}

int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

int cudaMemsetAsync(void* data, int value, std::size_t bytes, void*) {
  if (!on_device(data, bytes)) {
    return INVALID_VALUE;
  }
  std::memset(data, value, bytes);
  return 0;
}

int cudaPointerGetAttributes(Attributes* attributes, const void* data) {
  *attributes = {on_device(data, 0) ? 2 : 0, 0, const_cast<void*>(data), nullptr};
  return 0;
}

int cudaStreamCreateWithFlags(void** stream, unsigned) {
  const std::lock_guard<std::mutex> guard(lock);
  ++streams;
  *stream = std::malloc(1);
  return 0;
}

int cudaStreamDestroy(void* stream) {
  const std::lock_guard<std::mutex> guard(lock);
  --streams;
  std::free(stream);
  return 0;
}

int cudaStreamSynchronize(void*) {
  return 0;
}

int cudaStreamQuery(void*) {
  return 0;
}

int cudaStreamWaitEvent(void*, void*, unsigned) {
  return 0;
}

int cudaStreamIsCapturing(void*, int* status) {
  *status = 0;
  return 0;
}

int cudaStreamBeginCapture(void*, int) {
  return NOT_SUPPORTED;
}

int cudaStreamEndCapture(void*, void**) {
  return NOT_SUPPORTED;
}

int cudaGraphDestroy(void*) {
  return NOT_SUPPORTED;
}

int cudaGraphInstantiate(void**, void*, unsigned long long) {
  return NOT_SUPPORTED;
}

int cudaGraphLaunch(void*, void*) {
  return NOT_SUPPORTED;
}

int cudaGraphExecDestroy(void*) {
  return NOT_SUPPORTED;
}

int cudaEventCreateWithFlags(void** event, unsigned) {
  *event = std::malloc(1);
  return 0;
}

int cudaEventDestroy(void* event) {
  std::free(event);
  return 0;
}

int cudaEventRecord(void*, void*) {
  return 0;
}

int cudaEventSynchronize(void*) {
  return 0;
}

int cudaEventQuery(void*) {
  return 0;
}

int cudaEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0;
  return 0;
}

// What the process holds of the device: for tests that look for leaks.
long emulated_allocations() {
  const std::lock_guard<std::mutex> guard(lock);
  return static_cast<long>(allocations.size());
}

long emulated_streams() {
  const std::lock_guard<std::mutex> guard(lock);
  return streams;
}

} // extern "C"
