/**
 * Tensors: dtype, shape and a pointer to data that somebody else owns.
 *
 * Generated from runtime/abi/src/tensor.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_TENSOR_H
#define EXECUTORCH_C_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"

/**
 * Flag of [`et_tensor_t::flags`]: the data is constant for the life of the method and must not be written.
 */
#define ET_TENSOR_CONSTANT 1

/**
 * Flag of [`et_tensor_t::flags`]: the data lies in the method's planned memory.
 */
#define ET_TENSOR_PLANNED 2

/**
 * The most dimensions that a tensor may have.
 */
#define ET_MAX_RANK 16

/**
 * An element type: one of the `ET_DTYPE_…` constants (the numbers of PyTorch's `ScalarType`).
 */
typedef int8_t et_dtype_t;

/**
 * How a tensor's shape may change: one of the `ET_DYNAMISM_…` constants.
 */
typedef uint8_t et_dynamism_t;

/**
 * Where data lives: one of the `ET_DEVICE_…` constants.
 */
typedef uint8_t et_device_type_t;

/**
 * A dense tensor. It owns nothing: `data`, `sizes`, `strides` and `dim_order` belong to whoever made it and
 * must outlive it.
 *
 * The elements are dense in `dim_order` (outermost dimension first), so the data spans exactly
 * `numel * element size` bytes. Callers that make a tensor set every field, `struct_size` included; to
 * change the shape, call `et_tensor_resize`. Not synchronised: one thread at a time.
 */
typedef struct et_tensor_t {
  /**
   * The first element, or null while no memory is bound.
   */
  void *data;
  /**
   * `rank` sizes, each at least 0.
   */
  int32_t *sizes;
  /**
   * `rank` strides in elements, consistent with `sizes` and `dim_order`.
   */
  int32_t *strides;
  /**
   * `rank` dimension numbers, outermost first; a permutation of 0…rank-1.
   */
  uint8_t *dim_order;
  /**
   * The product of the sizes.
   */
  uint64_t numel;
  /**
   * Bytes that may be used at `data`: the bound of a resize.
   */
  uint64_t capacity_bytes;
  /**
   * `sizeof(et_tensor_t)` as the maker knew it.
   */
  uint16_t struct_size;
  /**
   * The number of dimensions, at most `ET_MAX_RANK`.
   */
  uint8_t rank;
  /**
   * The element type.
   */
  et_dtype_t dtype;
  /**
   * How the shape may change.
   */
  et_dynamism_t dynamism;
  /**
   * Where `data` points to.
   */
  et_device_type_t device_type;
  /**
   * Which device of that type; 0 for the CPU.
   */
  int8_t device_index;
  /**
   * `ET_TENSOR_…` flags.
   */
  uint8_t flags;
  /**
   * For the maker's use; the runtime never reads it.
   */
  void *user_data;
} et_tensor_t;

/**
 * Unsigned 8-bit integer.
 */
#define ET_DTYPE_UINT8 0

/**
 * Signed 8-bit integer.
 */
#define ET_DTYPE_INT8 1

/**
 * Signed 16-bit integer.
 */
#define ET_DTYPE_INT16 2

/**
 * Signed 32-bit integer.
 */
#define ET_DTYPE_INT32 3

/**
 * Signed 64-bit integer.
 */
#define ET_DTYPE_INT64 4

/**
 * IEEE binary16.
 */
#define ET_DTYPE_FLOAT16 5

/**
 * IEEE binary32.
 */
#define ET_DTYPE_FLOAT32 6

/**
 * IEEE binary64.
 */
#define ET_DTYPE_FLOAT64 7

/**
 * Complex of two binary16.
 */
#define ET_DTYPE_COMPLEX32 8

/**
 * Complex of two binary32.
 */
#define ET_DTYPE_COMPLEX64 9

/**
 * Complex of two binary64.
 */
#define ET_DTYPE_COMPLEX128 10

/**
 * Boolean, one byte, 0 or 1.
 */
#define ET_DTYPE_BOOL 11

/**
 * Quantized signed 8-bit integer.
 */
#define ET_DTYPE_QINT8 12

/**
 * Quantized unsigned 8-bit integer.
 */
#define ET_DTYPE_QUINT8 13

/**
 * Quantized signed 32-bit integer.
 */
#define ET_DTYPE_QINT32 14

/**
 * bfloat16.
 */
#define ET_DTYPE_BFLOAT16 15

/**
 * Two unsigned 4-bit integers a byte.
 */
#define ET_DTYPE_QUINT4X2 16

/**
 * Four unsigned 2-bit integers a byte.
 */
#define ET_DTYPE_QUINT2X4 17

/**
 * 8 bits, four and two elements packed or one a byte (18..21 are the bits1x8…bits8 types).
 */
#define ET_DTYPE_BITS1X8 18

/**
 * See `ET_DTYPE_BITS1X8`.
 */
#define ET_DTYPE_BITS2X4 19

/**
 * See `ET_DTYPE_BITS1X8`.
 */
#define ET_DTYPE_BITS4X2 20

/**
 * See `ET_DTYPE_BITS1X8`.
 */
#define ET_DTYPE_BITS8 21

/**
 * 16 opaque bits.
 */
#define ET_DTYPE_BITS16 22

/**
 * 8-bit float, 5 exponent bits.
 */
#define ET_DTYPE_FLOAT8_E5M2 23

/**
 * 8-bit float, 4 exponent bits, finite.
 */
#define ET_DTYPE_FLOAT8_E4M3FN 24

/**
 * 8-bit float, 5 exponent bits, no negative zero.
 */
#define ET_DTYPE_FLOAT8_E5M2FNUZ 25

/**
 * 8-bit float, 4 exponent bits, no negative zero.
 */
#define ET_DTYPE_FLOAT8_E4M3FNUZ 26

/**
 * Unsigned 16-bit integer.
 */
#define ET_DTYPE_UINT16 27

/**
 * Unsigned 32-bit integer.
 */
#define ET_DTYPE_UINT32 28

/**
 * Unsigned 64-bit integer.
 */
#define ET_DTYPE_UINT64 29

/**
 * The shape never changes.
 */
#define ET_DYNAMISM_STATIC 0

/**
 * The shape may change as long as it fits `capacity_bytes`.
 */
#define ET_DYNAMISM_BOUND 1

/**
 * The shape may change without limit (the runtime loads no such tensor).
 */
#define ET_DYNAMISM_UNBOUND 2

/**
 * Host memory.
 */
#define ET_DEVICE_CPU 0

/**
 * CUDA device memory.
 */
#define ET_DEVICE_CUDA 1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Gives a tensor new sizes and recomputes `strides` and `numel`.
 *
 * `rank` must be the tensor's own. Fails with `ET_ERROR_NOT_SUPPORTED` if the tensor is static and a size
 * differs, or if the new shape needs more than `capacity_bytes`; `ET_ERROR_INVALID_ARGUMENT` for a
 * negative size, another rank or an overflow. The tensor is unmodified on failure.
 */
extern et_error_t et_tensor_resize(struct et_tensor_t *tensor,
                                   const int32_t *sizes,
                                   size_t rank);

/**
 * Writes the dense strides (in elements) of `sizes` in `dim_order` to `strides`, `rank` each.
 *
 * `dim_order` may be null for the contiguous order. Fails with `ET_ERROR_INVALID_ARGUMENT` if `dim_order`
 * is no permutation, a size is negative or a stride does not fit 32 bits.
 */
extern et_error_t et_tensor_dense_strides(const int32_t *sizes,
                                          const uint8_t *dim_order,
                                          size_t rank,
                                          int32_t *strides);

/**
 * Bytes of one element; 0 for a number that is no element type.
 */
extern size_t et_dtype_size(et_dtype_t dtype);

/**
 * The name of an element type, such as `"float32"`; `"unknown"` for a number that is none.
 * The string is static.
 */
extern const char *et_dtype_name(et_dtype_t dtype);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_TENSOR_H */
