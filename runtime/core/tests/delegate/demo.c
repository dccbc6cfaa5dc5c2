/* A delegate as somebody else would write it: C11 against the installed headers, nothing of the runtime linked in.
 *
 * It runs the payloads of checks/conformance/fixtures/delegates.py: out = ((a + b) * scale + bias) * gain. The build sets
 * what the macros below leave open, to make libraries that the runtime must refuse.
 */
#include <executorch/c/backend.h>
#include <executorch/c/data_map.h>
#include <executorch/c/error.h>
#include <executorch/c/registration.h>
#include <executorch/c/tensor.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "DemoBackend"
#endif
#ifndef MAJOR
#define MAJOR ET_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR ET_ABI_MINOR
#endif
#ifndef AVAILABLE
#define AVAILABLE true
#endif

/* Handles that are alive, for the test to look at. */
int demo_handles;
/* What the delegate was given. */
int demo_user_data;
bool demo_contexts_complete = true;

typedef struct demo_handle_t {
  float bias;
  float gain;
  bool fails;
  float *scale;
  size_t scale_count;
} demo_handle_t;

static et_error_t fail(et_error_t code, const char *message) {
  et_set_last_error(code, message);
  return code;
}

static void release(const et_buffer_t *buffer) {
  if (buffer->free != NULL) {
    buffer->free(buffer->context, buffer->data, buffer->size);
  }
}

static et_error_t read_specs(demo_handle_t *handle, const et_compile_spec_t *specs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(specs[i].key, "bias") == 0) {
      if (specs[i].size != sizeof(float)) {
        return fail(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "the compile spec `bias` should be 4 bytes");
      }
      memcpy(&handle->bias, specs[i].value, sizeof(float));
    }
  }
  return ET_OK;
}

static et_error_t read_options(demo_handle_t *handle, const et_backend_option_t *options, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(options[i].key, "gain") == 0 && options[i].kind == ET_OPTION_INT) {
      handle->gain = (float)options[i].number;
    } else if (strcmp(options[i].key, "fails") == 0 && options[i].kind == ET_OPTION_BOOL) {
      handle->fails = options[i].number != 0;
    } else if (strcmp(options[i].key, "label") != 0 || strcmp(options[i].string, "a label") != 0) {
      return fail(ET_ERROR_INVALID_ARGUMENT, "the demo has the options `gain`, `fails` and `label`");
    }
  }
  return ET_OK;
}

/* The payload is "DEMO", a version, and the key of the scale's data (none if it is empty). */
static et_error_t read_payload(demo_handle_t *handle, const et_buffer_t *processed, const et_data_map_t *map) {
  const unsigned char *bytes = processed->data;
  uint32_t version = 0;
  char key[64] = {0};
  et_buffer_t scale;
  et_error_t error;
  if (processed->size < 8 || memcmp(bytes, "DEMO", 4) != 0) {
    return fail(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "the payload does not start with DEMO");
  }
  memcpy(&version, bytes + 4, 4);
  if (version != 1 || processed->size - 8 >= sizeof(key)) {
    return fail(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "the payload is of another version than 1");
  }
  memcpy(key, bytes + 8, processed->size - 8);
  if (key[0] == 0) {
    return ET_OK;
  }
  error = map->data(map->user_data, key, &scale);
  if (error != ET_OK) {
    return error;
  }
  handle->scale = malloc(scale.size);
  handle->scale_count = scale.size / sizeof(float);
  memcpy(handle->scale, scale.data, scale.size);
  release(&scale);
  return ET_OK;
}

static void destroy(void *user_data, void *opaque) {
  demo_handle_t *handle = opaque;
  (void)user_data;
  free(handle->scale);
  free(handle);
  demo_handles--;
}

static et_error_t init(void *user_data, const et_backend_init_context_t *context, const et_buffer_t *processed,
                       const et_compile_spec_t *specs, size_t spec_count, void **out) {
  demo_handle_t *handle = calloc(1, sizeof(*handle));
  et_error_t error;
  demo_handles++;
  demo_user_data = *(const int *)user_data;
  demo_contexts_complete = demo_contexts_complete && context->struct_size >= sizeof(*context) &&
                           context->method_name != NULL && context->data_map != NULL;
  handle->gain = 1;
  error = read_specs(handle, specs, spec_count);
  if (error == ET_OK) {
    error = read_options(handle, context->options, context->option_count);
  }
  if (error == ET_OK) {
    error = read_payload(handle, processed, context->data_map);
  }
  release(processed);
  if (error != ET_OK) {
    destroy(user_data, handle);
    return error;
  }
  *out = handle;
  return ET_OK;
}

static const et_tensor_t *tensor(et_value_t *const *args, size_t index) {
  return args[index]->tag == ET_TAG_TENSOR && args[index]->payload.as_tensor->dtype == ET_DTYPE_FLOAT32
             ? args[index]->payload.as_tensor
             : NULL;
}

static et_error_t execute(void *user_data, const et_backend_execute_context_t *context, void *opaque,
                          et_value_t *const *args, size_t count) {
  const demo_handle_t *handle = opaque;
  const et_tensor_t *a, *b;
  et_tensor_t *out;
  float *sum;
  (void)user_data;
  if (handle->fails) {
    return fail(ET_ERROR_DELEGATE_INVALID_HANDLE, "the demo was told to fail");
  }
  if (count != 3 || tensor(args, 0) == NULL || tensor(args, 1) == NULL || tensor(args, 2) == NULL) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "the demo takes three float32 tensors");
  }
  a = tensor(args, 0);
  b = tensor(args, 1);
  out = args[2]->payload.as_tensor;
  if (a->numel != b->numel || a->numel != out->numel) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "the demo takes tensors of one size");
  }
  demo_contexts_complete = demo_contexts_complete && context->struct_size >= sizeof(*context) &&
                           context->method_name != NULL && context->temp_allocator != NULL;
  sum = context->temp_allocator->allocate(context->temp_allocator->user_data, a->numel * sizeof(float), 64);
  if (sum == NULL || (uintptr_t)sum % 64 != 0) {
    return fail(ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED, "no memory for the sum");
  }
  for (size_t i = 0; i < a->numel; i++) {
    const float scale = handle->scale_count > 0 ? handle->scale[i % handle->scale_count] : 1;
    sum[i] = (((const float *)a->data)[i] + ((const float *)b->data)[i]) * scale;
  }
  for (size_t i = 0; i < a->numel; i++) {
    ((float *)out->data)[i] = (sum[i] + handle->bias) * handle->gain;
  }
  return ET_OK;
}

static bool is_available(void *user_data) {
  (void)user_data;
  return AVAILABLE;
}

static int magic = 4711;

static const et_backend_t backend = {
    .struct_size = sizeof(et_backend_t),
    .name = NAME,
    .user_data = &magic,
    .is_available = is_available,
    .init = init,
    .execute = execute,
    .destroy = destroy,
};

/* Registers again; the constructor below does so when the library is loaded. */
et_error_t demo_register(void);
et_error_t demo_register(void) {
  const et_registration_t registration = {
      .struct_size = sizeof(et_registration_t),
      .abi_major = MAJOR,
      .abi_minor = MINOR,
      .component_name = "demo",
      .component_version = "7.8.9",
  };
  return et_register_backend(&registration, &backend);
}

__attribute__((constructor)) static void at_load(void) { demo_register(); }
