/**
 * Kernels: registering them, and what they may ask for while they are prepared and run.
 *
 * Generated from runtime/abi/src/kernel.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_KERNEL_H
#define EXECUTORCH_C_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"
#include "executorch/c/registration.h"
#include "executorch/c/tracer.h"
#include "executorch/c/value.h"

/**
 * Flag of [`et_kernel_t::flags`]: the outputs depend on the arguments alone, so a call whose arguments are all
 * constant may be run once at load, after `prepare`; its results are then constants. Needs a `signature`.
 */
#define ET_KERNEL_PURE 1

/**
 * Handed to a kernel's `prepare`; opaque, valid during the call.
 */
typedef struct et_prepare_context_t et_prepare_context_t;

/**
 * Handed to a kernel while it runs; valid during the call.
 */
typedef struct et_kernel_context_t {
  /**
   * `sizeof(et_kernel_context_t)` as the runtime knows it.
   */
  uint32_t struct_size;
  /**
   * The first failure of this call, set by `et_kernel_context_fail`.
   */
  et_error_t error;
  /**
   * What the kernel's `prepare` made for this call site; null if it has none.
   */
  void *state;
  /**
   * `user_data` of the kernel's registration.
   */
  void *user_data;
  /**
   * The runtime's own.
   */
  void *internal;
} et_kernel_context_t;

/**
 * Runs a kernel. `args` holds the operator's arguments in schema order, then its outputs, then the slots that
 * the exporter adds for the return values. Fails by returning a code or by `et_kernel_context_fail`.
 */
typedef et_error_t (*et_kernel_run_t)(struct et_kernel_context_t *context,
                                      et_value_t *const *args,
                                      size_t count);

/**
 * Runs once for each call site, while a method is loaded: arguments that are constant have their final
 * values. Writes what it made to `state` (null if nothing); `release` frees it when the method is released.
 */
typedef et_error_t (*et_kernel_prepare_t)(struct et_prepare_context_t *context,
                                          et_value_t *const *args,
                                          size_t count,
                                          void **state);

/**
 * Frees what `prepare` made.
 */
typedef void (*et_kernel_release_t)(void *state);

/**
 * A kernel. The table that holds it must live as long as the process.
 */
typedef struct et_kernel_t {
  /**
   * `sizeof(et_kernel_t)`; the distance from one entry of a table to the next.
   */
  uint32_t struct_size;
  /**
   * `ET_KERNEL_…` flags.
   */
  uint32_t flags;
  /**
   * `"namespace::name.overload"`, such as `"aten::add.out"`.
   */
  const char *name;
  /**
   * The dtypes and dim orders that it serves, as upstream writes them (`"v1/6;0,1|6;0,1|…"`), one entry for
   * each tensor among the arguments; null serves all that no keyed kernel of this name does.
   */
  const char *key;
  /**
   * The kinds of its arguments, checked when a method is loaded; null to check nothing.
   *
   * One character each, inputs, then `>`, then outputs: `T` tensor, `S` number (int, float or bool), `I` int,
   * `D` float or int, `B` bool, `N` string, `L` int list, `F` float list, `O` bool list, `X` tensor list,
   * `Y` list of optional tensors; in lower case, none is allowed too. Example for `add.out`: `"TTS>T"`.
   */
  const char *signature;
  /**
   * Runs it.
   */
  et_kernel_run_t run;
  /**
   * Prepares a call site; may be null.
   */
  et_kernel_prepare_t prepare;
  /**
   * Frees what `prepare` made; may be null if it makes nothing.
   */
  et_kernel_release_t release;
  /**
   * Passed on in the context.
   */
  void *user_data;
} et_kernel_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Registers `count` kernels of a table that lives as long as the process. Meant for static initialisers:
 * it never aborts and never prints.
 *
 * Registering an entry that is identical to a registered one does nothing. Another kernel under a taken
 * name and key is refused; the message names both libraries. Refusals are kept among the registration
 * errors; the other entries of the table are registered all the same.
 */
extern et_error_t et_register_kernels(const et_registration_t *registration,
                                      const struct et_kernel_t *kernels,
                                      size_t count);

/**
 * The number of registered kernels.
 */
extern size_t et_kernel_count(void);

/**
 * The name of kernel number `index`, in order of registration; null past the end. It lives as long as the
 * process.
 */
extern const char *et_kernel_name(size_t index);

/**
 * Whether a kernel or one of the runtime's own operators serves `name` for any dtype.
 */
extern bool et_kernel_exists(const char *name);

/**
 * Records a failure with a message; the first one of a call wins. The kernel returns right after.
 */
extern void et_kernel_context_fail(struct et_kernel_context_t *context,
                                   et_error_t code,
                                   const char *message);

/**
 * Memory for the rest of this call, `size` bytes aligned to `alignment` (a power of two).
 *
 * Initialised, with bytes of any value. The second run of a call site with the same sizes allocates nothing from the system.
 */
extern et_error_t et_kernel_context_allocate(struct et_kernel_context_t *context,
                                             size_t size,
                                             size_t alignment,
                                             void **out);

/**
 * The tracer of this run; null if there is none.
 */
extern const et_event_tracer_t *et_kernel_context_tracer(struct et_kernel_context_t *context);

/**
 * Whether argument `index` never changes after load: a scalar or list that no instruction writes, or a
 * tensor whose shape and data are constant, in the file or as the result of a call that was run at load
 * (such as the `permute_copy` of a linear layer's weight), or a list of such tensors.
 */
extern bool et_prepare_is_constant(struct et_prepare_context_t *context,
                                   size_t index);

/**
 * An identity of the contents of constant tensor argument `index`: equal for the same constant of the same
 * program, or of the same file if it is mapped, in every method and module of the process, and for the
 * same computation on it at load; never reused. It says nothing of the tensor's dtype and shape.
 *
 * Fails with `ET_ERROR_INVALID_ARGUMENT` if the argument is no constant tensor, and with
 * `ET_ERROR_NOT_SUPPORTED` for external data that is not mapped. Writes two numbers.
 */
extern et_error_t et_prepare_constant_identity(struct et_prepare_context_t *context,
                                               size_t index,
                                               uint64_t *identity);

/**
 * Promises that `run` will not read the data of constant tensor argument `index` (it was packed), so that
 * the runtime gives its memory back once no other instruction needs it: `data` is then null if the tensor
 * was computed at load, and pages of a mapped file leave memory. What `prepare` makes must be a copy.
 */
extern et_error_t et_prepare_release_constant(struct et_prepare_context_t *context,
                                              size_t index);

/**
 * Reserves memory for `et_kernel_context_allocate`, so that the first run does not allocate.
 */
extern et_error_t et_prepare_reserve(struct et_prepare_context_t *context,
                                     size_t size,
                                     size_t alignment);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_KERNEL_H */
