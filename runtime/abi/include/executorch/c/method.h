/**
 * Methods: a program's functions, loaded and ready to run.
 *
 * A method is used by one thread at a time.
 *
 * Generated from runtime/abi/src/method.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_METHOD_H
#define EXECUTORCH_C_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/backend.h"
#include "executorch/c/data_map.h"
#include "executorch/c/error.h"
#include "executorch/c/kernel.h"
#include "executorch/c/memory.h"
#include "executorch/c/program.h"
#include "executorch/c/tensor.h"
#include "executorch/c/tracer.h"
#include "executorch/c/value.h"

/**
 * A loaded method.
 */
typedef struct et_method_t et_method_t;

/**
 * How a method is loaded. Everything is optional; what is pointed to must outlive the method, except
 * `backend_options`, which is read during the load only.
 */
typedef struct et_method_options_t {
  /**
   * `sizeof(et_method_options_t)`.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The caller's memory.
   */
  const et_memory_manager_t *memory;
  /**
   * External data (from `.ptd` files).
   */
  const et_data_map_t *data_map;
  /**
   * A tracer.
   */
  const et_event_tracer_t *tracer;
  /**
   * `backend_options_count` entries.
   */
  const et_backend_options_t *backend_options;
  /**
   * Their number.
   */
  size_t backend_options_count;
  /**
   * `kernel_count` kernels that are looked up before the registered ones.
   */
  const et_kernel_t *kernels;
  /**
   * Their number.
   */
  size_t kernel_count;
} et_method_options_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Frees a method. Null is ignored.
 */
extern void et_method_release(struct et_method_t *method);

/**
 * The method's metadata; valid as long as the method.
 */
extern const et_method_meta_t *et_method_metadata(const struct et_method_t *method);

/**
 * The number of inputs.
 */
extern size_t et_method_input_count(const struct et_method_t *method);

/**
 * The number of outputs.
 */
extern size_t et_method_output_count(const struct et_method_t *method);

/**
 * Sets input `index`.
 *
 * A tensor must have the input's dtype, rank and dim order, and sizes that the input allows. If the input's
 * memory is planned, the data is copied; otherwise the method uses the caller's data until it is set again.
 * The `et_tensor_t` itself is not kept. Numbers and strings must equal what the program was exported with.
 */
extern et_error_t et_method_set_input(struct et_method_t *method,
                                      size_t index,
                                      const et_value_t *value);

/**
 * Input `index` as the method holds it; null past the end. Valid as long as the method.
 */
extern et_value_t *et_method_input(struct et_method_t *method, size_t index);

/**
 * Output `index`; null past the end. Valid as long as the method; the next run overwrites its data.
 */
extern et_value_t *et_method_output(struct et_method_t *method, size_t index);

/**
 * Lets output `index` be written to `data`, which must hold `size` bytes for all coming runs.
 *
 * Fails with `ET_ERROR_INVALID_STATE` if the output's memory is planned, and with
 * `ET_ERROR_INVALID_ARGUMENT` if `size` is too small.
 */
extern et_error_t et_method_set_output_data(struct et_method_t *method,
                                            size_t index,
                                            void *data,
                                            size_t size);

/**
 * Finds an attribute (a named mutable tensor); `ET_ERROR_NOT_FOUND` if there is none of this name.
 */
extern et_error_t et_method_attribute(struct et_method_t *method,
                                      const char *name,
                                      et_tensor_t **out);

/**
 * Runs the method from its first instruction to its last. All inputs must be set.
 *
 * After a failure the method may be run again; state that the run changed before it stays changed.
 */
extern et_error_t et_method_execute(struct et_method_t *method);

/**
 * Runs one instruction; `ET_ERROR_END_OF_METHOD` after the last one.
 */
extern et_error_t et_method_step(struct et_method_t *method);

/**
 * Whether stepping has begun and not ended.
 */
extern bool et_method_in_progress(const struct et_method_t *method);

/**
 * Goes back to the first instruction.
 */
extern et_error_t et_method_reset(struct et_method_t *method);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_METHOD_H */
