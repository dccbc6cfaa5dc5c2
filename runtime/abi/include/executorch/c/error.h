/**
 * Error codes and the calling thread's last error message.
 *
 * The numbers are upstream's, so that code written for its `Error` enum keeps its meaning.
 *
 * Generated from runtime/abi/src/error.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_ERROR_H
#define EXECUTORCH_C_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * An error code: `ET_OK` or one of the `ET_ERROR_…` constants.
 */
typedef uint32_t et_error_t;

/**
 * Success.
 */
#define ET_OK 0

/**
 * A fault inside the runtime, including a caught panic.
 */
#define ET_ERROR_INTERNAL 1

/**
 * The object is not in a state that allows the call.
 */
#define ET_ERROR_INVALID_STATE 2

/**
 * `et_method_step` was called after the last instruction.
 */
#define ET_ERROR_END_OF_METHOD 3

/**
 * The resource is loaded already.
 */
#define ET_ERROR_ALREADY_LOADED 4

/**
 * The operation is not supported for this input.
 */
#define ET_ERROR_NOT_SUPPORTED 16

/**
 * The operation is not implemented by this object.
 */
#define ET_ERROR_NOT_IMPLEMENTED 17

/**
 * An argument is out of its domain.
 */
#define ET_ERROR_INVALID_ARGUMENT 18

/**
 * A value has another type than the one asked for.
 */
#define ET_ERROR_INVALID_TYPE 19

/**
 * The program calls operators that no loaded library registers.
 */
#define ET_ERROR_OPERATOR_MISSING 20

/**
 * The kernel table is full.
 */
#define ET_ERROR_REGISTRATION_EXCEEDING_MAX_KERNELS 21

/**
 * Another library registered something different under this name.
 */
#define ET_ERROR_REGISTRATION_ALREADY_REGISTERED 22

/**
 * A file, method, key, backend or device was not found.
 */
#define ET_ERROR_NOT_FOUND 32

/**
 * Memory could not be allocated, or an arena is too small.
 */
#define ET_ERROR_MEMORY_ALLOCATION_FAILED 33

/**
 * Reading data failed.
 */
#define ET_ERROR_ACCESS_FAILED 34

/**
 * The program file is malformed.
 */
#define ET_ERROR_INVALID_PROGRAM 35

/**
 * An external data file is malformed or does not match the program.
 */
#define ET_ERROR_INVALID_EXTERNAL_DATA 36

/**
 * A resource other than memory is used up.
 */
#define ET_ERROR_OUT_OF_RESOURCES 37

/**
 * The delegate cannot read this payload.
 */
#define ET_ERROR_DELEGATE_INVALID_COMPATIBILITY 48

/**
 * The delegate could not allocate memory.
 */
#define ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED 49

/**
 * The delegate handle is not valid.
 */
#define ET_ERROR_DELEGATE_INVALID_HANDLE 50

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The message of the last failure on the calling thread: what was expected, what was found, where, and
 * what to do.
 *
 * Never null; empty if nothing failed on this thread. The pointer stays valid until the next call into
 * the runtime on this thread.
 */
extern const char *et_last_error_message(void);

/**
 * The code of the last failure on the calling thread, `ET_OK` if there was none.
 */
extern et_error_t et_last_error_code(void);

/**
 * Sets the calling thread's last error, for delegates, kernels, loaders and data maps that fail.
 *
 * `message` is copied; null means no message. A code of `ET_OK` clears the last error.
 */
extern void et_set_last_error(et_error_t code, const char *message);

/**
 * The name of a code, such as `"InvalidArgument"`; `"Unknown"` for a number that is none.
 * The string is static.
 */
extern const char *et_error_name(et_error_t code);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_ERROR_H */
