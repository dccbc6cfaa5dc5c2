/**
 * Data loaders: where the bytes of a program or data file come from.
 *
 * Generated from runtime/abi/src/loader.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_LOADER_H
#define EXECUTORCH_C_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"

/**
 * How a file is brought into memory: one of the `ET_LOAD_…` constants.
 */
typedef uint32_t et_load_mode_t;

/**
 * What a loaded range is for: one of the `ET_SEGMENT_…` constants.
 */
typedef uint32_t et_segment_kind_t;

/**
 * What the loader is asked for, so that it can place or log it.
 */
typedef struct et_segment_info_t {
  /**
   * `sizeof(et_segment_info_t)`.
   */
  uint32_t struct_size;
  /**
   * What the range is for.
   */
  et_segment_kind_t kind;
  /**
   * The segment's index in the file.
   */
  size_t index;
  /**
   * A name (a backend's id, a data key); null if there is none.
   */
  const char *descriptor;
} et_segment_info_t;

/**
 * Bytes and how to give them back.
 */
typedef struct et_buffer_t {
  /**
   * The first byte; may be null if `size` is 0.
   */
  const void *data;
  /**
   * The number of bytes.
   */
  size_t size;
  /**
   * Called once when the bytes are no longer needed, from any thread; null if nothing has to be done.
   */
  void (*free)(void *context, const void *data, size_t size);
  /**
   * Passed to `free`.
   */
  void *context;
} et_buffer_t;

/**
 * A source of bytes. The table is copied by the call that takes it; its functions must be thread-safe.
 */
typedef struct et_data_loader_t {
  /**
   * `sizeof(et_data_loader_t)`.
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
   * Makes `size` bytes at `offset` available, aligned to at least 16 in memory. The runtime frees the buffer.
   */
  et_error_t (*load)(void *user_data,
                     uint64_t offset,
                     size_t size,
                     const struct et_segment_info_t *info,
                     struct et_buffer_t *out);
  /**
   * Reads `size` bytes at `offset` to `destination`; null to let the runtime use `load` and copy.
   */
  et_error_t (*load_into)(void *user_data,
                          uint64_t offset,
                          size_t size,
                          const struct et_segment_info_t *info,
                          void *destination);
  /**
   * Writes the number of bytes that can be loaded.
   */
  et_error_t (*size)(void *user_data, uint64_t *out);
  /**
   * Called once when the loader is no longer needed; null if the caller keeps it alive and frees it.
   */
  void (*destroy)(void *user_data);
} et_data_loader_t;

/**
 * The program's structure.
 */
#define ET_SEGMENT_PROGRAM 0

/**
 * Constants.
 */
#define ET_SEGMENT_CONSTANT 1

/**
 * A delegate's payload.
 */
#define ET_SEGMENT_BACKEND 2

/**
 * Initial values of mutable state.
 */
#define ET_SEGMENT_MUTABLE 3

/**
 * An external data file.
 */
#define ET_SEGMENT_EXTERNAL 4

/**
 * Read into memory of the runtime.
 */
#define ET_LOAD_FILE 0

/**
 * Map it; pages come in as they are used. The file must not be truncated while it is mapped.
 */
#define ET_LOAD_MMAP 1

/**
 * Map it and lock the pages in memory; a failure to lock is an error.
 */
#define ET_LOAD_MMAP_MLOCK 2

/**
 * Map it and try to lock the pages.
 */
#define ET_LOAD_MMAP_MLOCK_IGNORE_ERRORS 3

/**
 * Map it and ask the kernel to read ahead.
 */
#define ET_LOAD_MMAP_MADVISE 4

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * A loader of a file. The caller passes it on, or calls its `destroy`.
 *
 * Fails with `ET_ERROR_NOT_FOUND` or `ET_ERROR_ACCESS_FAILED` naming the path.
 */
extern et_error_t et_data_loader_open_file(const char *path,
                                           et_load_mode_t mode,
                                           struct et_data_loader_t *out);

/**
 * A loader that reads from a duplicate of an open file descriptor, positions untouched.
 */
extern et_error_t et_data_loader_from_descriptor(int32_t descriptor, struct et_data_loader_t *out);

/**
 * A loader over bytes of the caller, aligned to at least 16, used in place. They must outlive whatever
 * is loaded from them. `free` (may be null) is called with `context` when the loader is destroyed.
 */
extern et_error_t et_data_loader_from_buffer(const struct et_buffer_t *buffer,
                                             struct et_data_loader_t *out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_LOADER_H */
