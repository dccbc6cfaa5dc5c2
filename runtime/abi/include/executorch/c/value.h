/**
 * Values: what methods, kernels and delegates take and give.
 *
 * Generated from runtime/abi/src/value.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_VALUE_H
#define EXECUTORCH_C_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/tensor.h"

/**
 * What a value holds: one of the `ET_TAG_…` constants (upstream's order).
 */
typedef uint32_t et_tag_t;

/**
 * A string with its length; `data` is NUL-terminated too when the runtime made it.
 */
typedef struct et_string_t {
  /**
   * UTF-8 bytes.
   */
  const char *data;
  /**
   * Their number, without a NUL.
   */
  size_t length;
} et_string_t;

/**
 * A list of 64-bit integers.
 */
typedef struct et_int_list_t {
  /**
   * The items.
   */
  const int64_t *data;
  /**
   * Their number.
   */
  size_t length;
} et_int_list_t;

/**
 * A list of 64-bit floats.
 */
typedef struct et_double_list_t {
  /**
   * The items.
   */
  const double *data;
  /**
   * Their number.
   */
  size_t length;
} et_double_list_t;

/**
 * A list of booleans.
 */
typedef struct et_bool_list_t {
  /**
   * The items, each 0 or 1.
   */
  const bool *data;
  /**
   * Their number.
   */
  size_t length;
} et_bool_list_t;

/**
 * A list of tensors. In a `ET_TAG_LIST_OPTIONAL_TENSOR`, a null item is an absent tensor.
 */
typedef struct et_tensor_list_t {
  /**
   * The items.
   */
  et_tensor_t *const *data;
  /**
   * Their number.
   */
  size_t length;
} et_tensor_list_t;

/**
 * The payload of a value; the tag says which member holds.
 */
typedef union et_payload_t {
  /**
   * `ET_TAG_INT`
   */
  int64_t as_int;
  /**
   * `ET_TAG_DOUBLE`
   */
  double as_double;
  /**
   * `ET_TAG_BOOL`
   */
  bool as_bool;
  /**
   * `ET_TAG_TENSOR`
   */
  et_tensor_t *as_tensor;
  /**
   * `ET_TAG_STRING`
   */
  struct et_string_t as_string;
  /**
   * `ET_TAG_LIST_INT`
   */
  struct et_int_list_t as_int_list;
  /**
   * `ET_TAG_LIST_DOUBLE`
   */
  struct et_double_list_t as_double_list;
  /**
   * `ET_TAG_LIST_BOOL`
   */
  struct et_bool_list_t as_bool_list;
  /**
   * `ET_TAG_LIST_TENSOR` and `ET_TAG_LIST_OPTIONAL_TENSOR`
   */
  struct et_tensor_list_t as_tensor_list;
} et_payload_t;

/**
 * A tagged value. It owns nothing that it points to. Copying it copies the pointer.
 */
typedef struct et_value_t {
  /**
   * The payload that `tag` names.
   */
  union et_payload_t payload;
  /**
   * What the value holds.
   */
  et_tag_t tag;
  /**
   * Zero.
   */
  uint32_t reserved;
} et_value_t;

/**
 * Nothing.
 */
#define ET_TAG_NONE 0

/**
 * A tensor.
 */
#define ET_TAG_TENSOR 1

/**
 * A string.
 */
#define ET_TAG_STRING 2

/**
 * A 64-bit float.
 */
#define ET_TAG_DOUBLE 3

/**
 * A 64-bit integer.
 */
#define ET_TAG_INT 4

/**
 * A boolean.
 */
#define ET_TAG_BOOL 5

/**
 * A list of booleans.
 */
#define ET_TAG_LIST_BOOL 6

/**
 * A list of 64-bit floats.
 */
#define ET_TAG_LIST_DOUBLE 7

/**
 * A list of 64-bit integers.
 */
#define ET_TAG_LIST_INT 8

/**
 * A list of tensors.
 */
#define ET_TAG_LIST_TENSOR 9

/**
 * A list of scalars (no program that the runtime loads has one).
 */
#define ET_TAG_LIST_SCALAR 10

/**
 * A list of tensors, some of which may be absent.
 */
#define ET_TAG_LIST_OPTIONAL_TENSOR 11

#endif  /* EXECUTORCH_C_VALUE_H */
