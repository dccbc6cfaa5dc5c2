/**
 * Named data: `.ptd` files, named blobs of a program, and maps of the caller.
 *
 * Generated from runtime/abi/src/data_map.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_DATA_MAP_H
#define EXECUTORCH_C_DATA_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"
#include "executorch/c/loader.h"
#include "executorch/c/tensor.h"

/**
 * The layout of a named tensor. The pointers live as long as the map.
 */
typedef struct et_tensor_layout_t {
  /**
   * `rank` sizes.
   */
  const int32_t *sizes;
  /**
   * `rank` dimension numbers, outermost first.
   */
  const uint8_t *dim_order;
  /**
   * The number of dimensions.
   */
  size_t rank;
  /**
   * Bytes of the whole tensor.
   */
  uint64_t nbytes;
  /**
   * The element type.
   */
  et_dtype_t dtype;
  /**
   * Zero.
   */
  uint8_t reserved[7];
} et_tensor_layout_t;

/**
 * A map from names to data. Its functions must be thread-safe; keys are NUL-terminated.
 */
typedef struct et_data_map_t {
  /**
   * `sizeof(et_data_map_t)`.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Passed to every function.
   */
  void *user_data;
  /**
   * Writes the layout of `key`; `ET_ERROR_NOT_FOUND` if there is no such key, `ET_ERROR_NOT_SUPPORTED`
   * if it is a blob without a layout.
   */
  et_error_t (*layout)(void *user_data, const char *key, struct et_tensor_layout_t *out);
  /**
   * Makes the bytes of `key` available; the receiver frees the buffer.
   */
  et_error_t (*data)(void *user_data, const char *key, et_buffer_t *out);
  /**
   * Copies the first `size` bytes of `key` to `destination`; null to use `data` and copy.
   */
  et_error_t (*load_into)(void *user_data, const char *key, void *destination, size_t size);
  /**
   * The number of keys.
   */
  size_t (*count)(void *user_data);
  /**
   * Key number `index`, valid as long as the map; null past the end.
   */
  const char *(*key)(void *user_data, size_t index);
  /**
   * Called once when the map is no longer needed; null if there is nothing to do.
   */
  void (*destroy)(void *user_data);
} et_data_map_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Reads a `.ptd` (FlatTensor) file through a loader, of which it takes ownership, also on failure.
 *
 * The caller calls the map's `destroy`, after every method that uses it is released. Everything is
 * verified here: `ET_ERROR_INVALID_EXTERNAL_DATA` says what is wrong and where.
 */
extern et_error_t et_data_map_load(const et_data_loader_t *loader, struct et_data_map_t *out);

/**
 * One map over several; keys must not repeat (`ET_ERROR_INVALID_ARGUMENT` names the key). The parts are
 * borrowed and must outlive it.
 */
extern et_error_t et_data_map_merge(const struct et_data_map_t *const *maps,
                                    size_t count,
                                    struct et_data_map_t *out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_DATA_MAP_H */
