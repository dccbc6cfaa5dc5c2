/**
 * Backends: delegates that run a part of a program.
 *
 * Generated from runtime/abi/src/backend.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_BACKEND_H
#define EXECUTORCH_C_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/data_map.h"
#include "executorch/c/error.h"
#include "executorch/c/loader.h"
#include "executorch/c/memory.h"
#include "executorch/c/registration.h"
#include "executorch/c/tracer.h"
#include "executorch/c/value.h"

/**
 * Bytes in an option's key, its NUL included.
 */
#define ET_OPTION_KEY_SIZE 64

/**
 * Bytes in an option's string, its NUL included.
 */
#define ET_OPTION_STRING_SIZE 256

/**
 * What an option holds: one of the `ET_OPTION_…` constants.
 */
typedef uint32_t et_option_kind_t;

/**
 * One option of a backend.
 */
typedef struct et_backend_option_t {
  /**
   * Its key, NUL-terminated.
   */
  char key[ET_OPTION_KEY_SIZE];
  /**
   * What it holds.
   */
  et_option_kind_t kind;
  /**
   * The boolean or integer.
   */
  int32_t number;
  /**
   * The string, NUL-terminated.
   */
  char string[ET_OPTION_STRING_SIZE];
} et_backend_option_t;

/**
 * Handed to a backend's `init`; valid during the call. All pointers are borrowed.
 */
typedef struct et_backend_init_context_t {
  /**
   * `sizeof(et_backend_init_context_t)` as the runtime knows it.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The method that is being loaded.
   */
  const char *method_name;
  /**
   * Named data of the program and of the external data files, merged; valid as long as the method.
   */
  const et_data_map_t *data_map;
  /**
   * Memory that lives as long as the method; null if the caller gave none.
   */
  const et_allocator_t *method_allocator;
  /**
   * The method's tracer; null if there is none.
   */
  const et_event_tracer_t *tracer;
  /**
   * Options for this backend at this load.
   */
  const struct et_backend_option_t *options;
  /**
   * Their number.
   */
  size_t option_count;
  /**
   * The runtime's own.
   */
  void *internal;
} et_backend_init_context_t;

/**
 * A compile spec: bytes that the exporter left for the backend.
 */
typedef struct et_compile_spec_t {
  /**
   * The key.
   */
  const char *key;
  /**
   * The value's bytes.
   */
  const void *value;
  /**
   * Their number.
   */
  size_t size;
} et_compile_spec_t;

/**
 * Handed to a backend's `execute`; valid during the call. All pointers are borrowed.
 */
typedef struct et_backend_execute_context_t {
  /**
   * `sizeof(et_backend_execute_context_t)` as the runtime knows it.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The method that runs.
   */
  const char *method_name;
  /**
   * Memory for the rest of this call.
   */
  const et_allocator_t *temp_allocator;
  /**
   * The method's tracer; null if there is none.
   */
  const et_event_tracer_t *tracer;
  /**
   * The runtime's own.
   */
  void *internal;
} et_backend_execute_context_t;

/**
 * Takes a piece of text, which is valid during the call. `context` is what was given with it.
 */
typedef void (*et_text_sink_t)(void *context, const char *text, size_t length);

/**
 * A backend. The table must live as long as the process; its functions must be thread-safe, but one handle is
 * used by one thread at a time. Functions fail with a code after `et_set_last_error`.
 *
 * The table grows at its end, and `struct_size` says how much of it is there: who asks `et_backend_find` for one
 * compares it before reading an entry past `get_options`.
 */
typedef struct et_backend_t {
  /**
   * `sizeof(et_backend_t)`.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The id that programs name, such as `"XnnpackBackend"`.
   */
  const char *name;
  /**
   * Passed to every function.
   */
  void *user_data;
  /**
   * Whether it can run on this machine; null means yes.
   */
  bool (*is_available)(void *user_data);
  /**
   * Reads a payload and writes a handle. The backend takes `processed`: it calls `processed->free` (if not
   * null) when it no longer needs the bytes, also if `init` fails. `specs` are valid during the call.
   */
  et_error_t (*init)(void *user_data,
                     const struct et_backend_init_context_t *context,
                     const et_buffer_t *processed,
                     const struct et_compile_spec_t *specs,
                     size_t spec_count,
                     void **handle);
  /**
   * Runs a handle on the call's arguments: inputs, then outputs.
   */
  et_error_t (*execute)(void *user_data,
                        const struct et_backend_execute_context_t *context,
                        void *handle,
                        et_value_t *const *args,
                        size_t count);
  /**
   * Frees a handle; null if there is nothing to free.
   */
  void (*destroy)(void *user_data, void *handle);
  /**
   * Sets process-wide options; null if it has none.
   */
  et_error_t (*set_options)(void *user_data, const struct et_backend_option_t *options, size_t count);
  /**
   * Fills in the options whose keys are given; null if it has none.
   */
  et_error_t (*get_options)(void *user_data, struct et_backend_option_t *options, size_t count);
  /**
   * Says what is in a payload, without a handle and without running anything: writes one UTF-8 JSON document to
   * `sink`, in pieces of any length; null if it cannot. The arguments are those of `init`: `processed` is the
   * backend's to free, also on failure, and `context->method_allocator` is null. Called on machines, too, where
   * `is_available` says no. Readers ignore keys that they do not know; every key but `nodes` may be left out:
   *
   * ```text
   * {
   *   "format": "XNNPACK flatbuffer XN01",          the payload's format, for people
   *   "nodes": [{                                   in the order in which they run
   *     "name": "Conv2d",                           the kind of node, as the format names it
   *     "inputs": [0, 3], "outputs": [4],           ids of values
   *     "executor": "library",                      what runs it here, with these options
   *     "detail": "kernel 3x3, stride 2"            anything else, for people
   *   }],
   *   "values": [{                                  tensors that the nodes pass on
   *     "id": 0, "name": "x",
   *     "dtype": "float32",                         as `et_dtype_name` spells it, or the format's own name
   *     "shape": [1, 3, 224, 224],                  upper bounds if the shape is dynamic
   *     "role": "input",                            or output, constant, internal
   *     "detail": "per channel, axis 0"
   *   }],
   *   "notes": ["packed weights: 3.1 MB"]           about the payload as a whole, for people
   * }
   * ```
   */
  et_error_t (*describe)(void *user_data,
                         const struct et_backend_init_context_t *context,
                         const et_buffer_t *processed,
                         const struct et_compile_spec_t *specs,
                         size_t spec_count,
                         et_text_sink_t sink,
                         void *sink_context);
} et_backend_t;

/**
 * Options for one backend, given when a method is loaded.
 */
typedef struct et_backend_options_t {
  /**
   * The backend's id.
   */
  const char *backend;
  /**
   * `count` options.
   */
  const struct et_backend_option_t *options;
  /**
   * Their number.
   */
  size_t count;
} et_backend_options_t;

/**
 * A boolean, in `number` as 0 or 1.
 */
#define ET_OPTION_BOOL 0

/**
 * An integer, in `number`.
 */
#define ET_OPTION_INT 1

/**
 * A string, in `string`.
 */
#define ET_OPTION_STRING 2

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Registers a backend whose table lives as long as the process. Meant for static initialisers: it never
 * aborts and never prints. Registering the same table again does nothing; another backend under a taken
 * name is refused and kept among the registration errors, naming both libraries.
 */
extern et_error_t et_register_backend(const et_registration_t *registration,
                                      const struct et_backend_t *backend);

/**
 * The number of registered backends.
 */
extern size_t et_backend_count(void);

/**
 * The name of backend number `index`; null past the end. It lives as long as the process.
 */
extern const char *et_backend_name(size_t index);

/**
 * The registered backend of this name, as it was registered; null if there is none. Its `struct_size` says how
 * much of the table is there.
 */
extern const struct et_backend_t *et_backend_find(const char *name);

/**
 * Whether a backend of this name is registered and says that it can run here.
 */
extern bool et_backend_is_available(const char *name);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_BACKEND_H */
