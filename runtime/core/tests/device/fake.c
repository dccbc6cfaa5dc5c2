/* A device that every machine has, for the tests of everything that handles memory of devices: an allocator for "CUDA", and
 * a backend that adds tensors which lie there. Built against the installed headers alone.
 *
 * An address of the device is one of the process that nobody may touch: the host's first read or write of it ends the
 * process. What lies there is kept in a shadow, which only the functions here reach. There are two devices.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <executorch/c/backend.h>
#include <executorch/c/device.h>
#include <executorch/c/error.h>
#include <executorch/c/registration.h>
#include <executorch/c/tensor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEVICES 2
#define PAGE 4096

typedef struct block_t {
  struct block_t *next;
  unsigned char *start, *shadow;
  size_t size;
  int index;
} block_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static block_t *blocks;
static fake_counts_t counts;
static int failing_allocation = -1, failing_copy = -1;

static et_error_t fail(et_error_t code, const char *message) {
  et_set_last_error(code, message);
  return code;
}

void fake_counts(fake_counts_t *out) {
  pthread_mutex_lock(&mutex);
  *out = counts;
  pthread_mutex_unlock(&mutex);
}

void fake_fail_allocation(int skipped) { failing_allocation = skipped; }
void fake_fail_copy(int skipped) { failing_copy = skipped; }

static bool fails_now(int *countdown) {
  if (*countdown < 0) {
    return false;
  }
  return (*countdown)-- == 0;
}

/* The block that an address lies in, on any device; the caller holds the lock. */
static block_t *block_at(const void *data) {
  block_t *block = blocks;
  while (block != NULL &&
         ((const unsigned char *)data < block->start || (const unsigned char *)data >= block->start + block->size)) {
    block = block->next;
  }
  return block;
}

static void *shadow(const void *data, size_t size, int index) {
  block_t *block = block_at(data);
  if (block == NULL || block->index != index ||
      size > block->size - (size_t)((const unsigned char *)data - block->start)) {
    return NULL;
  }
  return block->shadow + ((const unsigned char *)data - block->start);
}

void *fake_shadow(const void *data, size_t size, int index) {
  void *found;
  pthread_mutex_lock(&mutex);
  found = shadow(data, size, index);
  pthread_mutex_unlock(&mutex);
  return found;
}

static et_error_t allocate(void *user_data, size_t size, size_t alignment, int8_t index, void **out) {
  block_t *block;
  (void)user_data;
  if (index < 0 || index >= DEVICES) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "there are the devices 0 and 1 only");
  }
  if (size == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > PAGE) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "size or alignment are wrong");
  }
  if (size > (size_t)1 << 28 || fails_now(&failing_allocation)) {
    return fail(ET_ERROR_MEMORY_ALLOCATION_FAILED, "the device is out of memory");
  }
  block = calloc(1, sizeof(*block));
  if (block == NULL || (block->shadow = malloc(size)) == NULL) {
    free(block);
    return fail(ET_ERROR_MEMORY_ALLOCATION_FAILED, "the host is out of memory");
  }
  block->start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block->start == MAP_FAILED) {
    free(block->shadow);
    free(block);
    return fail(ET_ERROR_MEMORY_ALLOCATION_FAILED, "the address space is full");
  }
  /* A device does not clean its memory. */
  memset(block->shadow, 0xAB, size);
  block->size = size;
  block->index = index;
  pthread_mutex_lock(&mutex);
  block->next = blocks;
  blocks = block;
  counts.allocations++;
  counts.alive++;
  counts.bytes += (int64_t)size;
  pthread_mutex_unlock(&mutex);
  *out = block->start;
  return ET_OK;
}

static void deallocate(void *user_data, void *data, int8_t index) {
  block_t **link = &blocks, *block;
  (void)user_data;
  pthread_mutex_lock(&mutex);
  while (*link != NULL && ((*link)->start != data || (*link)->index != index)) {
    link = &(*link)->next;
  }
  block = *link;
  if (block == NULL) {
    counts.bad_frees++;
  } else {
    *link = block->next;
    counts.alive--;
    counts.bytes -= (int64_t)block->size;
    munmap(block->start, block->size);
    free(block->shadow);
    free(block);
  }
  pthread_mutex_unlock(&mutex);
}

/* Copies between shadows and the host; an index of -1 stands for the host. */
static et_error_t copy(void *destination, int to, const void *source, int from, size_t size, int64_t *counter) {
  et_error_t error = ET_OK;
  if (fails_now(&failing_copy)) {
    return fail(ET_ERROR_INTERNAL, "the copy failed");
  }
  pthread_mutex_lock(&mutex);
  if ((to < 0) != (block_at(destination) == NULL) || (from < 0) != (block_at(source) == NULL)) {
    error = fail(ET_ERROR_INVALID_ARGUMENT, "an address of the host was given for one of the device, or the other way");
  } else {
    void *target = to < 0 ? destination : shadow(destination, size, to);
    const void *origin = from < 0 ? source : shadow(source, size, from);
    if (target == NULL || origin == NULL) {
      error = fail(ET_ERROR_INVALID_ARGUMENT, "the copy leaves its memory or names another device");
    } else {
      memmove(target, origin, size);
      (*counter)++;
    }
  }
  pthread_mutex_unlock(&mutex);
  return error;
}

static et_error_t copy_from_host(void *user_data, void *destination, const void *source, size_t size, int8_t index) {
  (void)user_data;
  return copy(destination, index, source, -1, size, &counts.to_device);
}

static et_error_t copy_to_host(void *user_data, void *destination, const void *source, size_t size, int8_t index) {
  (void)user_data;
  return copy(destination, -1, source, index, size, &counts.to_host);
}

static et_error_t copy_on_device(void *user_data, void *destination, const void *source, size_t size, int8_t index) {
  (void)user_data;
  return copy(destination, index, source, index, size, &counts.on_device);
}

static et_error_t synchronize(void *user_data, int8_t index) {
  (void)user_data;
  if (index < 0 || index >= DEVICES) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "there are the devices 0 and 1 only");
  }
  pthread_mutex_lock(&mutex);
  counts.synchronized++;
  pthread_mutex_unlock(&mutex);
  return ET_OK;
}

static et_error_t init(void *user_data, const et_backend_init_context_t *context, const et_buffer_t *processed,
                       const et_compile_spec_t *specs, size_t spec_count, void **out) {
  const bool good = processed->size == 4 && memcmp(processed->data, "DEVC", 4) == 0;
  (void)user_data;
  (void)context;
  (void)specs;
  (void)spec_count;
  if (processed->free != NULL) {
    processed->free(processed->context, processed->data, processed->size);
  }
  if (!good) {
    return fail(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "the payload is not DEVC");
  }
  *out = malloc(1);
  pthread_mutex_lock(&mutex);
  counts.handles++;
  pthread_mutex_unlock(&mutex);
  return ET_OK;
}

/* The elements of a tensor that may be on a device; null if they are not where the tensor says. */
static float *elements(const et_tensor_t *tensor) {
  const size_t size = tensor->numel * sizeof(float);
  if (tensor->device_type == ET_DEVICE_CPU) {
    return tensor->data;
  }
  return fake_shadow(tensor->data, size, tensor->device_index);
}

static et_error_t execute(void *user_data, const et_backend_execute_context_t *context, void *handle,
                          et_value_t *const *args, size_t count) {
  et_tensor_t *tensors[3];
  float *data[3];
  et_error_t error;
  (void)user_data;
  (void)context;
  (void)handle;
  for (size_t i = 0; i < 3; i++) {
    tensors[i] = i < count && args[i]->tag == ET_TAG_TENSOR ? args[i]->payload.as_tensor : NULL;
    if (count != 3 || tensors[i] == NULL || tensors[i]->dtype != ET_DTYPE_FLOAT32) {
      return fail(ET_ERROR_INVALID_ARGUMENT, "the backend takes three float32 tensors");
    }
    if (tensors[i]->device_type != tensors[0]->device_type || tensors[i]->device_index != tensors[0]->device_index) {
      return fail(ET_ERROR_INVALID_ARGUMENT, "the backend takes tensors of one device");
    }
  }
  error = et_tensor_resize(tensors[2], tensors[0]->sizes, tensors[0]->rank);
  if (error != ET_OK) {
    return error;
  }
  for (size_t i = 0; i < 3; i++) {
    data[i] = elements(tensors[i]);
    if (data[i] == NULL && tensors[i]->numel > 0) {
      char text[96];
      snprintf(text, sizeof(text), "argument %zu is no memory of device %d", i, tensors[i]->device_index);
      return fail(ET_ERROR_INVALID_ARGUMENT, text);
    }
  }
  if (tensors[1]->numel != tensors[0]->numel) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "the backend adds tensors of one shape");
  }
  for (size_t i = 0; i < tensors[0]->numel; i++) {
    data[2][i] = data[0][i] + data[1][i];
  }
  pthread_mutex_lock(&mutex);
  counts.runs++;
  pthread_mutex_unlock(&mutex);
  return ET_OK;
}

static void destroy(void *user_data, void *handle) {
  (void)user_data;
  free(handle);
  pthread_mutex_lock(&mutex);
  counts.handles--;
  pthread_mutex_unlock(&mutex);
}

static const et_backend_t backend = {
    .struct_size = sizeof(et_backend_t),
    .name = "DeviceDemoBackend",
    .init = init,
    .execute = execute,
    .destroy = destroy,
};

static const et_device_allocator_t allocator = {
#ifdef FAKE_FIRST_TABLE
    /* A table as it was before `copy_on_device`: what lies behind is not the table's. */
    .struct_size = offsetof(et_device_allocator_t, copy_on_device),
    .copy_on_device = (et_error_t(*)(void *, void *, const void *, size_t, int8_t))1,
    .synchronize = (et_error_t(*)(void *, int8_t))1,
#else
    .struct_size = sizeof(et_device_allocator_t),
    .copy_on_device = copy_on_device,
    .synchronize = synchronize,
#endif
    .device_type = ET_DEVICE_CUDA,
    .allocate = allocate,
    .deallocate = deallocate,
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
};

__attribute__((constructor)) static void at_load(void) {
  const et_registration_t registration = {
      .struct_size = sizeof(et_registration_t),
      .abi_major = ET_ABI_MAJOR,
      .abi_minor = ET_ABI_MINOR,
      .component_name = "fake device",
      .component_version = "1.0",
  };
  (void)copy_on_device;
  (void)synchronize;
  et_register_backend(&registration, &backend);
#ifndef FAKE_NO_ALLOCATOR
  et_register_device_allocator(&registration, &allocator);
#else
  (void)allocator;
#endif
}
