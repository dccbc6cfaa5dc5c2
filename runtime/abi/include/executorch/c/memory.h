/**
 * Memory that callers give to a method.
 *
 * Generated from runtime/abi/src/memory.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_MEMORY_H
#define EXECUTORCH_C_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/tensor.h"

/**
 * An allocator of the caller. Memory is never freed one by one: `reset` frees all of it.
 * Used by one thread at a time. The table must outlive its users.
 */
typedef struct et_allocator_t {
  /**
   * `sizeof(et_allocator_t)`.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Passed to both functions.
   */
  void *user_data;
  /**
   * Returns `size` bytes aligned to `alignment` (a power of two), or null.
   */
  void *(*allocate)(void *user_data, size_t size, size_t alignment);
  /**
   * Frees all that was allocated; null if the allocator cannot.
   */
  void (*reset)(void *user_data);
} et_allocator_t;

/**
 * A planned buffer that the caller owns.
 */
typedef struct et_arena_t {
  /**
   * Its first byte, aligned to at least 16.
   */
  void *data;
  /**
   * Its bytes.
   */
  size_t size;
  /**
   * Where it lives.
   */
  et_device_type_t device_type;
  /**
   * Which device of that type.
   */
  int8_t device_index;
  /**
   * Zero.
   */
  uint8_t reserved[6];
} et_arena_t;

/**
 * The memory of one method. Everything is optional: what is null, the runtime allocates itself.
 */
typedef struct et_memory_manager_t {
  /**
   * `sizeof(et_memory_manager_t)`.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * For what delegates keep with the method.
   */
  const struct et_allocator_t *method_allocator;
  /**
   * For memory that one instruction needs; reset after each.
   */
  const struct et_allocator_t *temp_allocator;
  /**
   * `planned_count` buffers, in the order of the method's metadata; null to let the runtime allocate them.
   */
  const struct et_arena_t *planned;
  /**
   * Their number; must be at least the method's if `planned` is not null.
   */
  size_t planned_count;
} et_memory_manager_t;

#endif  /* EXECUTORCH_C_MEMORY_H */
