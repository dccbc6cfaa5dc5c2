/* A delegate in C, as somebody else would write it: C11 against the installed headers, nothing of the runtime linked in.
 *
 * It runs the payloads of the exporter in checks/conformance/fixtures/delegates.py: out = ((a + b) * scale + bias) * gain,
 * for float32 tensors. A payload is "DEMO", a version, and the key of the named data that holds `scale`; `bias` is a
 * compile spec, and `gain` an option of the load. The example in Rust beside it does the same.
 */
#include "demo.h"

#include <executorch/c/data_map.h>
#include <executorch/c/error.h>
#include <executorch/c/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is made of a payload. */
typedef struct demo_handle_t {
  float bias;
  float gain;
  bool fails;
  /* Null if the payload names none. */
  float *scale;
  size_t scale_count;
} demo_handle_t;

/* The key of the scale's data; empty if there is none. */
typedef struct demo_key_t {
  char text[64];
} demo_key_t;

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
  handle->gain = 1;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(options[i].key, "gain") == 0 && options[i].kind == ET_OPTION_INT) {
      handle->gain = (float)options[i].number;
    } else if (strcmp(options[i].key, "fails") == 0 && options[i].kind == ET_OPTION_BOOL) {
      handle->fails = options[i].number != 0;
    } else if (strcmp(options[i].key, "label") != 0 || options[i].kind != ET_OPTION_STRING) {
      return fail(ET_ERROR_INVALID_ARGUMENT, "the demo has the options gain (int), fails (bool) and label (string)");
    }
  }
  return ET_OK;
}

static et_error_t read_payload(demo_key_t *key, const et_buffer_t *processed) {
  const unsigned char *bytes = processed->data;
  uint32_t version = 0;
  if (processed->size < 8 || memcmp(bytes, "DEMO", 4) != 0) {
    return fail(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "the payload does not start with DEMO");
  }
  memcpy(&version, bytes + 4, 4);
  if (version != 1 || processed->size - 8 >= sizeof(key->text)) {
    return fail(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "the payload is of another version than 1");
  }
  memset(key->text, 0, sizeof(key->text));
  memcpy(key->text, bytes + 8, processed->size - 8);
  return ET_OK;
}

static et_error_t read_scale(demo_handle_t *handle, const demo_key_t *key, const et_data_map_t *map) {
  et_buffer_t scale;
  et_error_t error;
  if (key->text[0] == 0) {
    return ET_OK;
  }
  error = map->data(map->user_data, key->text, &scale);
  if (error != ET_OK) {
    return error;
  }
  /* The bytes could also be kept and released with the handle: they are there as long as the method. */
  handle->scale = malloc(scale.size + 1);
  if (handle->scale == NULL) {
    release(&scale);
    return fail(ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED, "no memory for the scale");
  }
  handle->scale_count = scale.size / sizeof(float);
  memcpy(handle->scale, scale.data, handle->scale_count * sizeof(float));
  release(&scale);
  return ET_OK;
}

static et_error_t read_all(demo_handle_t *handle, demo_key_t *key, const et_backend_init_context_t *context,
                           const et_buffer_t *processed, const et_compile_spec_t *specs, size_t spec_count) {
  et_error_t error = read_specs(handle, specs, spec_count);
  if (error == ET_OK) {
    error = read_options(handle, context->options, context->option_count);
  }
  if (error == ET_OK) {
    error = read_payload(key, processed);
  }
  if (error == ET_OK) {
    error = read_scale(handle, key, context->data_map);
  }
  return error;
}

static void destroy(void *user_data, void *opaque) {
  demo_handle_t *handle = opaque;
  (void)user_data;
  free(handle->scale);
  free(handle);
}

static et_error_t init(void *user_data, const et_backend_init_context_t *context, const et_buffer_t *processed,
                       const et_compile_spec_t *specs, size_t spec_count, void **out) {
  demo_handle_t *handle = calloc(1, sizeof(*handle));
  demo_key_t key;
  et_error_t error = ET_OK;
  if (handle == NULL) {
    error = fail(ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED, "no memory for the handle");
  } else {
    error = read_all(handle, &key, context, processed, specs, spec_count);
  }
  /* The payload was given away, also if this fails. */
  release(processed);
  if (error != ET_OK) {
    if (handle != NULL) {
      destroy(user_data, handle);
    }
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
  et_error_t error;
  (void)user_data;
  if (handle->fails) {
    return fail(ET_ERROR_DELEGATE_INVALID_HANDLE, "the demo was told to fail");
  }
  /* The arguments are the program's: what the payload expects of them has to be checked. */
  if (count != 3 || tensor(args, 0) == NULL || tensor(args, 1) == NULL || tensor(args, 2) == NULL) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "the demo takes three float32 tensors");
  }
  a = tensor(args, 0);
  b = tensor(args, 1);
  out = args[2]->payload.as_tensor;
  if (a->rank != b->rank || memcmp(a->sizes, b->sizes, a->rank * sizeof(*a->sizes)) != 0) {
    return fail(ET_ERROR_INVALID_ARGUMENT, "the demo adds tensors of one shape");
  }
  error = et_tensor_resize(out, a->sizes, a->rank);
  if (error != ET_OK) {
    return error;
  }
  sum = context->temp_allocator->allocate(context->temp_allocator->user_data, a->numel * sizeof(float) + 1, 64);
  if (sum == NULL) {
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

/* Text that needs no escapes in JSON. */
static bool is_plain(const char *text) {
  for (; *text != 0; text++) {
    if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\') {
      return false;
    }
  }
  return true;
}

static et_error_t describe(void *user_data, const et_backend_init_context_t *context, const et_buffer_t *processed,
                           const et_compile_spec_t *specs, size_t spec_count, et_text_sink_t sink,
                           void *sink_context) {
  static const char form[] =
      "{\"format\": \"DEMO 1\", \"nodes\": ["
      "{\"name\": \"Add\", \"inputs\": [0, 1], \"outputs\": [4], \"executor\": \"loop\"}, "
      "{\"name\": \"Scale\", \"inputs\": [4, 2], \"outputs\": [3], \"executor\": \"loop\","
      " \"detail\": \"bias %g, gain %g\"}], \"values\": ["
      "{\"id\": 0, \"name\": \"a\", \"dtype\": \"float32\", \"role\": \"input\"}, "
      "{\"id\": 1, \"name\": \"b\", \"dtype\": \"float32\", \"role\": \"input\"}, "
      "{\"id\": 2, \"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%zu], \"role\": \"constant\"}, "
      "{\"id\": 3, \"name\": \"out\", \"dtype\": \"float32\", \"role\": \"output\"}, "
      "{\"id\": 4, \"name\": \"sum\", \"dtype\": \"float32\", \"role\": \"internal\"}]}";
  char text[sizeof(form) + sizeof(demo_key_t) + 128];
  demo_handle_t handle = {0};
  demo_key_t key;
  et_error_t error = read_all(&handle, &key, context, processed, specs, spec_count);
  (void)user_data;
  release(processed);
  if (error == ET_OK) {
    const size_t count = handle.scale_count > 0 ? handle.scale_count : 1;
    const char *name = is_plain(key.text) ? key.text : "";
    const int length = snprintf(text, sizeof(text), form, (double)handle.bias, (double)handle.gain, name, count);
    sink(sink_context, text, (size_t)length);
  }
  free(handle.scale);
  return error;
}

const et_backend_t demo_backend = {
    .struct_size = sizeof(et_backend_t),
    .name = "DemoBackend",
    .init = init,
    .execute = execute,
    .destroy = destroy,
    .describe = describe,
};
