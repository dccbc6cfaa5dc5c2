/**
 * The process's one thread pool (`libexecutorch_threadpool.so.1`).
 *
 * Every function may be called from any thread. No thread is started before the first parallel call that
 * needs one. A parallel call inside a parallel call runs serially on its caller.
 *
 * Generated from runtime/abi/src/threadpool.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_THREADPOOL_H
#define EXECUTORCH_C_THREADPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"

/**
 * The body of [`et_parallel_for`]: handles `begin` ≤ i < `end`. Must not unwind.
 */
typedef void (*et_range_body_t)(void *context, int64_t begin, int64_t end);

/**
 * The body of [`et_parallel_tasks`]: handles one task. Must not unwind.
 */
typedef void (*et_task_body_t)(void *context, size_t index);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Runs `body` over `[begin, end)` in chunks of at least `grain` elements and returns when all are done.
 *
 * Fails with `ET_ERROR_INVALID_ARGUMENT` if `grain` is not positive, `end` is before `begin` or `body` is
 * null.
 */
extern et_error_t et_parallel_for(int64_t begin,
                                  int64_t end,
                                  int64_t grain,
                                  et_range_body_t body,
                                  void *context);

/**
 * Runs `body` once for each index below `count`, in any order, and returns when all are done.
 * Threads take the next index as they become free.
 */
extern et_error_t et_parallel_tasks(size_t count, et_task_body_t body, void *context);

/**
 * The number of threads that take part in a parallel call, the caller included; at least 1.
 */
extern size_t et_threadpool_get_thread_count(void);

/**
 * Sets the number of threads, at any time; 0 restores the default (CPUs allowed by affinity and cgroup
 * limits, or the environment variable `ET_NUM_THREADS`).
 */
extern et_error_t et_threadpool_set_thread_count(size_t count);

/**
 * The calling thread's number within the parallel call that it takes part in; 0 outside of one.
 */
extern size_t et_threadpool_get_thread_num(void);

/**
 * Until the matching leave, parallel calls of this thread run serially. Nests.
 */
extern void et_threadpool_guard_enter(void);

/**
 * Ends the innermost guard of this thread; ignored if there is none.
 */
extern void et_threadpool_guard_leave(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_THREADPOOL_H */
