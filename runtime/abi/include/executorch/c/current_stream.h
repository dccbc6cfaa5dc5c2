/**
 * The current CUDA stream of a device, for code that AOTInductor compiled (`libaoti_cuda_shims.so.1`).
 *
 * One stream for each thread and device: what a compiled model asks for with `aoti_torch_get_current_cuda_stream`, and what
 * its tensors are allocated, copied and freed on. The CUDA delegate sets it around a run. A stream that is set belongs to
 * whoever set it.
 *
 * Generated from runtime/abi/src/current_stream.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_CURRENT_STREAM_H
#define EXECUTORCH_C_CURRENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Whether a stream is current for `device` on the calling thread; if so, it is written to `stream` (a `cudaStream_t`),
 * unless that is null. None is created. A negative `device` is the calling thread's current one.
 */
extern bool et_current_stream_get(int32_t device,
                                  void **stream);

/**
 * Makes `stream` (a `cudaStream_t`; null is CUDA's default stream) current for `device` on the calling thread.
 */
extern void et_current_stream_set(int32_t device,
                                  void *stream);

/**
 * Leaves `device` without a current stream on the calling thread.
 */
extern void et_current_stream_clear(int32_t device);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_CURRENT_STREAM_H */
