/**
 * The CUDA stream that a caller chose for the work of delegates (`libexecutorch_extension_cuda.so.1`).
 *
 * One choice for each thread: it holds for calls on the thread that made it. Delegates on CUDA (AOTInductor, TensorRT) put
 * their work on that stream and, where the data allows it, return before it is done. The caller owns the stream and keeps
 * it alive until the choice is undone. Nothing here calls CUDA.
 *
 * Generated from runtime/abi/src/caller_stream.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_CALLER_STREAM_H
#define EXECUTORCH_C_CALLER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Whether the calling thread has chosen a stream; if so, it is written to `stream` (a `cudaStream_t`), unless that is
 * null. Null as a stream is a choice too: CUDA's default stream.
 */
extern bool et_caller_stream_get(void **stream);

/**
 * Chooses `stream` (a `cudaStream_t`) for the calling thread, until the next such call.
 */
extern void et_caller_stream_set(void *stream);

/**
 * Undoes the calling thread's choice.
 */
extern void et_caller_stream_clear(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_CALLER_STREAM_H */
