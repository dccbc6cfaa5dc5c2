// The compiled model of the program cuda_gate (checks/conformance/cuda), as AOTInductor's are, but in C and small: it sorts
// the rows of `x * scale + shift`. The gate compiles it in the machine where it tries the wheel.
//
// As in those, the arithmetic is a kernel that is launched through the driver, whose code is in the library: PTX here, which
// drivers compile for any GPU. The sort is the shim library's, whose machine code is in the wheel.
// The stand-in for a driver (delegates/cuda/fakes) runs functions of the host instead of device code. On it both steps are
// loops below, and the shim's sort is called as on a GPU, but its result, which nothing computes there, is replaced.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 6
#define CONSTANTS 2
#define THREADS 64

// The shim library's.
typedef struct Tensor Tensor;
int32_t aoti_torch_get_dim(Tensor*, int64_t*);
int32_t aoti_torch_get_sizes(Tensor*, int64_t**);
int32_t aoti_torch_get_strides(Tensor*, int64_t**);
int32_t aoti_torch_get_dtype(Tensor*, int32_t*);
int32_t aoti_torch_get_device_type(Tensor*, int32_t*);
int32_t aoti_torch_get_data_ptr(Tensor*, void**);
int32_t aoti_torch_empty_strided(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, Tensor**);
int32_t aoti_torch_delete_tensor_object(Tensor*);
int32_t aoti_torch_cuda_sort_stable(Tensor*, int32_t*, int64_t, int32_t, Tensor**, Tensor**);
int32_t aoti_torch_dtype_float32(void);
int32_t aoti_torch_device_type_cuda(void);

// CUDA's, of the driver and of the runtime.
int cuModuleLoadData(void**, const void*);
int cuModuleUnload(void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuLaunchKernel(
    void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cudaGetDevice(int*);
int cudaEventCreate(void**);
int cudaEventRecord(void*, void*);
int cudaEventDestroy(void*);
// Only the stand-in has it.
void fake_watch(void) __attribute__((weak));

// y[i] = x[i] * scale[i % columns] + shift[i % columns]
static const char affine_ptx[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry kernel(.param .u64 py, .param .u64 px, .param .u64 pscale, .param .u64 pshift,\n"
    "                       .param .u64 pcount, .param .u64 pcolumns)\n"
    "{\n"
    "  .reg .pred %done;\n"
    "  .reg .b32 %block, %size, %thread, %index;\n"
    "  .reg .f32 %value, %factor, %term;\n"
    "  .reg .b64 %i, %count, %columns, %column, %address;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mad.lo.u32 %index, %block, %size, %thread;\n"
    "  cvt.u64.u32 %i, %index;\n"
    "  ld.param.u64 %count, [pcount];\n"
    "  setp.ge.u64 %done, %i, %count;\n"
    "  @%done bra END;\n"
    "  ld.param.u64 %columns, [pcolumns];\n"
    "  rem.u64 %column, %i, %columns;\n"
    "  shl.b64 %column, %column, 2;\n"
    "  shl.b64 %i, %i, 2;\n"
    "  ld.param.u64 %address, [px];\n"
    "  add.u64 %address, %address, %i;\n"
    "  ld.global.f32 %value, [%address];\n"
    "  ld.param.u64 %address, [pscale];\n"
    "  add.u64 %address, %address, %column;\n"
    "  ld.global.f32 %factor, [%address];\n"
    "  ld.param.u64 %address, [pshift];\n"
    "  add.u64 %address, %address, %column;\n"
    "  ld.global.f32 %term, [%address];\n"
    "  fma.rn.f32 %value, %value, %factor, %term;\n"
    "  ld.param.u64 %address, [py];\n"
    "  add.u64 %address, %address, %i;\n"
    "  st.global.f32 [%address], %value;\n"
    "END:\n"
    "  ret;\n"
    "}\n";

// What the stand-in takes for device code: a function, which gets the parameters' addresses.
typedef struct {
  char magic[8];
  void (*function)(const void* const*);
  size_t parameters;
} Image;

static void* pointer(const void* const* parameters, int index) {
  return *(void* const*)parameters[index];
}

static uint64_t number(const void* const* parameters, int index) {
  return *(const uint64_t*)parameters[index];
}

static void affine_on_host(const void* const* parameters) {
  float* y = pointer(parameters, 0);
  const float *x = pointer(parameters, 1), *scale = pointer(parameters, 2), *shift = pointer(parameters, 3);
  const uint64_t count = number(parameters, 4), columns = number(parameters, 5);
  for (uint64_t i = 0; i < count; ++i) {
    y[i] = x[i] * scale[i % columns] + shift[i % columns];
  }
}

static void sort_on_host(const void* const* parameters) {
  float* sorted = pointer(parameters, 0);
  const float* y = pointer(parameters, 1);
  const uint64_t count = number(parameters, 2), columns = number(parameters, 3);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t place = i;
    for (; place % columns != 0 && sorted[place - 1] > y[i]; --place) {
      sorted[place] = sorted[place - 1];
    }
    sorted[place] = y[i];
  }
}

static const Image affine_image = {{'F', 'A', 'K', 'E', 'C', 'O', 'D', 'E'}, affine_on_host, 6};
static const Image sort_image = {{'F', 'A', 'K', 'E', 'C', 'O', 'D', 'E'}, sort_on_host, 4};

typedef struct {
  void *module, *function;
} Kernel;

typedef struct {
  Kernel affine, sort;
  Tensor* constants[CONSTANTS];
  void* done;
} Container;

typedef struct {
  const char* name;
  Tensor* handle;
} Pair;

// In the container, and in the model.
static const char* const names[CONSTANTS] = {"model_scale", "model_shift"};
static const char* const model_names[CONSTANTS] = {"scale", "shift"};

static __thread char last_error[200];

static int32_t failed(const char* what, int code) {
  snprintf(last_error, sizeof last_error, "%s failed with %d", what, code);
  return 1;
}

#define TRY(call)                 \
  do {                            \
    const int code_ = (int)(call); \
    if (code_ != 0) {             \
      return failed(#call, code_); \
    }                             \
  } while (0)

static int32_t load(Kernel* kernel, const void* image) {
  TRY(cuModuleLoadData(&kernel->module, image));
  TRY(cuModuleGetFunction(&kernel->function, kernel->module, "kernel"));
  return 0;
}

static int32_t launch(const Kernel* kernel, uint64_t count, void** parameters, void* stream) {
  const unsigned blocks = (unsigned)((count + THREADS - 1) / THREADS);
  TRY(cuLaunchKernel(kernel->function, blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL));
  return 0;
}

int32_t AOTInductorGetLastError(const char** message) {
  *message = last_error;
  return 0;
}

int32_t AOTInductorModelContainerDelete(Container* container) {
  if (container->done != NULL) {
    cudaEventDestroy(container->done);
  }
  const Kernel* const kernels[] = {&container->affine, &container->sort};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
    if (kernels[i]->module != NULL) {
      cuModuleUnload(kernels[i]->module);
    }
  }
  free(container);
  return 0;
}

static int32_t fill(Container* container) {
  int device = 0;
  TRY(cudaGetDevice(&device));
  TRY(cudaEventCreate(&container->done));
  if (fake_watch == NULL) {
    return load(&container->affine, affine_ptx);
  }
  TRY(load(&container->affine, &affine_image));
  return load(&container->sort, &sort_image);
}

int32_t AOTInductorModelContainerCreateWithDevice(
    Container** out, size_t models, const char* device, const char* folder) {
  (void)folder;
  if (models != 1 || strcmp(device, "cuda") != 0) {
    return failed("one model for cuda", (int)models);
  }
  Container* container = calloc(1, sizeof *container);
  if (container == NULL) {
    return failed("calloc", 0);
  }
  if (fill(container) != 0) {
    AOTInductorModelContainerDelete(container);
    return 1;
  }
  *out = container;
  return 0;
}

int32_t AOTInductorModelContainerGetNumInputs(Container* container, size_t* count) {
  (void)container;
  *count = 1;
  return 0;
}

int32_t AOTInductorModelContainerGetNumOutputs(Container* container, size_t* count) {
  return AOTInductorModelContainerGetNumInputs(container, count);
}

int32_t AOTInductorModelContainerGetNumConstants(Container* container, size_t* count) {
  (void)container;
  *count = CONSTANTS;
  return 0;
}

int32_t AOTInductorModelContainerGetConstantName(Container* container, size_t index, const char** name) {
  (void)container;
  *name = names[index];
  return 0;
}

int32_t AOTInductorModelContainerGetConstantOriginalFQN(Container* container, size_t index, const char** name) {
  (void)container;
  *name = model_names[index];
  return 0;
}

int32_t AOTInductorModelContainerGetConstantDataSize(Container* container, size_t index, size_t* bytes) {
  (void)container, (void)index;
  *bytes = COLUMNS * sizeof(float);
  return 0;
}

int32_t AOTInductorModelContainerGetConstantDtype(Container* container, size_t index, int32_t* dtype) {
  (void)container, (void)index;
  *dtype = aoti_torch_dtype_float32();
  return 0;
}

int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    Container* container, const Pair* pairs, size_t count, bool inactive, bool all) {
  if (inactive || (all && count != CONSTANTS)) {
    return failed("binding all constants", (int)count);
  }
  for (size_t i = 0; i < count; ++i) {
    size_t place = 0;
    while (place < CONSTANTS && strcmp(pairs[i].name, names[place]) != 0) {
      ++place;
    }
    if (place == CONSTANTS) {
      return failed(pairs[i].name, (int)i);
    }
    container->constants[place] = pairs[i].handle;
  }
  return 0;
}

// The rows of a tensor of float32 on the device, and where they are.
static int32_t rows(Tensor* tensor, int64_t* count, float** data) {
  int64_t dim = 0, *sizes = NULL, *strides = NULL;
  int32_t dtype = 0, kind = 0;
  TRY(aoti_torch_get_dim(tensor, &dim));
  TRY(aoti_torch_get_sizes(tensor, &sizes));
  TRY(aoti_torch_get_strides(tensor, &strides));
  TRY(aoti_torch_get_dtype(tensor, &dtype));
  TRY(aoti_torch_get_device_type(tensor, &kind));
  TRY(aoti_torch_get_data_ptr(tensor, (void**)data));
  const bool is_right = dim >= 1 && dim <= 2 && sizes[dim - 1] == COLUMNS && strides[dim - 1] == 1 &&
      dtype == aoti_torch_dtype_float32() && kind == aoti_torch_device_type_cuda();
  *count = dim == 2 ? sizes[0] : 1;
  return is_right ? 0 : failed("a tensor of rows", (int)dim);
}

static int32_t sorted(Container* container, Tensor* input, Tensor* scaled, Tensor** out, void* stream) {
  int64_t count = 0, other = 0;
  float *x = NULL, *y = NULL, *constants[CONSTANTS] = {NULL, NULL}, *values = NULL;
  TRY(rows(input, &count, &x));
  TRY(rows(scaled, &other, &y));
  for (size_t i = 0; i < CONSTANTS; ++i) {
    if (container->constants[i] == NULL) {
      return failed(names[i], 0);
    }
    TRY(rows(container->constants[i], &other, &constants[i]));
  }
  uint64_t elements = (uint64_t)count * COLUMNS, columns = COLUMNS;
  void* affine[] = {&y, &x, &constants[0], &constants[1], &elements, &columns};
  TRY(launch(&container->affine, elements, affine, stream));
  int32_t stable = 1;
  Tensor* indices = NULL;
  TRY(aoti_torch_cuda_sort_stable(scaled, &stable, -1, 0, out, &indices));
  TRY(aoti_torch_delete_tensor_object(indices));
  TRY(rows(*out, &other, &values));
  if (container->sort.function != NULL) {
    void* sort[] = {&values, &y, &elements, &columns};
    TRY(launch(&container->sort, 1, sort, stream));
  }
  TRY(cudaEventRecord(container->done, stream));
  return 0;
}

int32_t AOTInductorModelContainerRun(
    Container* container, Tensor** inputs, size_t input_count, Tensor** outputs, size_t output_count, void* stream,
    void* proxy) {
  (void)proxy;
  if (input_count != 1 || output_count != 1) {
    return failed("one input and one output", (int)input_count);
  }
  // From here on the input is this function's.
  Tensor *input = inputs[0], *scaled = NULL, *out = NULL;
  inputs[0] = NULL;
  int64_t count = 0;
  float* x = NULL;
  int32_t status = rows(input, &count, &x);
  if (status == 0) {
    const int64_t sizes[2] = {count, COLUMNS}, strides[2] = {COLUMNS, 1};
    int device = 0;
    status = cudaGetDevice(&device) ||
        aoti_torch_empty_strided(
            2, sizes, strides, aoti_torch_dtype_float32(), aoti_torch_device_type_cuda(), device, &scaled);
    status = status == 0 ? sorted(container, input, scaled, &out, stream) : failed("memory for the rows", status);
  }
  aoti_torch_delete_tensor_object(input);
  if (scaled != NULL) {
    aoti_torch_delete_tensor_object(scaled);
  }
  if (status == 0) {
    outputs[0] = out;
  } else if (out != NULL) {
    aoti_torch_delete_tensor_object(out);
  }
  return status;
}
