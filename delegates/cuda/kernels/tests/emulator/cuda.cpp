// libcuda.so.1 of a GPU that the CPU emulates: launches run the kernels' own sources, at once.

#include "../../cu/kernels.cu"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace {

using Call = std::function<void(void**)>;

// Calls a kernel with the values that the addresses lead to.
template <class... A, std::size_t... I>
void unpack(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}

template <class... A>
Call call(void (*kernel)(A...)) {
  return [kernel](void** arguments) { unpack(kernel, arguments, std::index_sequence_for<A...>()); };
}

#define KERNEL(NAME) {#NAME, call(NAME)}
#define KERNELS_3(NAME) KERNEL(NAME##_1), KERNEL(NAME##_2), KERNEL(NAME##_4)

std::map<std::string, Call>& kernels() {
  static std::map<std::string, Call> all = {
      KERNEL(int4pack_2_few),      KERNEL(int4pack_4_few),   KERNEL(int4pack_8_few),     KERNEL(int4pack_2_many),
      KERNEL(int4pack_4_many),     KERNEL(int4pack_8_many),  KERNEL(quantize_activations), KERNELS_3(int4_plain),
      KERNELS_3(int5_plain),       KERNELS_3(int6_plain),    KERNELS_3(int8_plain),      KERNEL(sort_blocks_i32),
      KERNEL(sort_blocks_i64),     KERNEL(sort_blocks_f32),  KERNEL(sort_blocks_f16),    KERNEL(sort_blocks_bf16),
      KERNEL(sort_merge_32),       KERNEL(sort_merge_64),    KERNEL(sort_gather_16),     KERNEL(sort_gather_32),
      KERNEL(sort_gather_64),      KERNEL(random_reserve),   KERNEL(random_uniform_f32), KERNEL(random_uniform_bf16),
      KERNEL(random_integers),
  };
  return all;
}

std::mutex running;

} // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = 12060;
  return 0;
}

int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_EMULATED";
  return 0;
}

int cuGetErrorString(int, const char** text) {
  *text = "an error of the emulator";
  return 0;
}

int cuModuleLoadData(void** module, const void*) {
  *module = &running;
  return 0;
}

int cuModuleUnload(void*) {
  return 0;
}

int cuModuleGetFunction(void** function, void*, const char* name) {
  const auto found = kernels().find(name);
  if (found == kernels().end()) {
    return 500;
  }
  *function = &found->second;
  return 0;
}

int cuFuncSetAttribute(void*, int, int) {
  return 0;
}

int cuLaunchKernel(
    void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned, void*,
    void** arguments, void**) {
  if (gx == 0 || gy == 0 || gz == 0 || gy > 65535 || bx * by * bz > 1024 || bx * by * bz == 0) {
    return 1;
  }
  const std::lock_guard<std::mutex> one(running);
  emulator::run({gx, gy, gz}, {bx, by, bz}, [&] { (*static_cast<Call*>(function))(arguments); });
  return 0;
}

} // extern "C"
