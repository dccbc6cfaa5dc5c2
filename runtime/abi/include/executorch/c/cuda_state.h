/**
 * Several states of one loaded CUDA program (`libexecutorch_backend_cuda.so.1`).
 *
 * A program's methods may change buffers of its own, such as a key-value cache. A context gives one loaded program several
 * sessions, each with buffers of its own. In order: make a context; register the buffers' names; load the methods between
 * `et_cuda_state_begin_load` and `et_cuda_state_end_load`; create sessions; make one active on a thread, and run the methods
 * there. C++ has `executorch/backends/cuda/runtime/cuda_mutable_state.h` over this.
 *
 * Contexts and sessions are numbers, and may be used from any thread; one that is destroyed stays an invalid number.
 *
 * Generated from runtime/abi/src/cuda_state.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_CUDA_STATE_H
#define EXECUTORCH_C_CUDA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"

/**
 * The session that is active where none is.
 */
#define ET_CUDA_STATE_NO_SESSION -1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes a context and returns its number, which is greater than 0; 0 if that failed.
 */
extern int32_t et_cuda_state_create(void);

/**
 * Destroys a context and its sessions. Nothing happens if there is none.
 */
extern void et_cuda_state_destroy(int32_t context);

/**
 * Adds `count` names of mutable buffers, as the exported model calls them. `ET_ERROR_INVALID_STATE`, also for good, if a
 * method was loaded already.
 */
extern et_error_t et_cuda_state_register(int32_t context,
                                         const char *const *names,
                                         size_t count);

/**
 * What the calling thread loads from now on belongs to the context. `ET_ERROR_INVALID_STATE`, also for good, within
 * another such scope of the thread.
 */
extern et_error_t et_cuda_state_begin_load(int32_t context);

/**
 * What the calling thread loads from now on belongs to no context.
 */
extern void et_cuda_state_end_load(void);

/**
 * Whether methods were loaded for the context, and allow sessions.
 */
extern bool et_cuda_state_is_available(int32_t context);

/**
 * Bytes of device memory that one session takes; 0 before methods are loaded.
 */
extern uint64_t et_cuda_state_bytes_per_session(int32_t context);

/**
 * Fails unless sessions can be created: `ET_ERROR_NOT_SUPPORTED` without methods that allow them,
 * `ET_ERROR_INVALID_STATE` without names or after a mistake, `ET_ERROR_INVALID_PROGRAM` with a name that no method has.
 */
extern et_error_t et_cuda_state_validate(int32_t context);

/**
 * Creates a session and writes its number to `session`. Fails as `et_cuda_state_validate` does.
 */
extern et_error_t et_cuda_state_create_session(int32_t context, int32_t *session);

/**
 * Destroys a session; no call may run in it. Nothing happens if there is none.
 */
extern void et_cuda_state_destroy_session(int32_t context, int32_t session);

/**
 * The calling thread's calls run in this session from now on; in none with `ET_CUDA_STATE_NO_SESSION`. Once a context
 * has had sessions, its methods run in none of them no more.
 */
extern void et_cuda_state_set_active(int32_t context,
                                     int32_t session);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_CUDA_STATE_H */
