/**
 * Device memory: allocators that delegates register for their devices.
 *
 * Generated from runtime/abi/src/device.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_DEVICE_H
#define EXECUTORCH_C_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"
#include "executorch/c/registration.h"
#include "executorch/c/tensor.h"

/**
 * Allocates and copies memory of one device type. Its functions must be thread-safe, and fail with a code after
 * `et_set_last_error`.
 *
 * Delegates may return before their work on the device is done. The copies come after the work that was started before
 * on the calling thread, and are complete on return.
 *
 * The table grows at its end, and `struct_size` says how much of it is there: who asks `et_device_allocator_find` for
 * one compares it before reading an entry past `copy_to_host`.
 */
typedef struct et_device_allocator_t {
  /**
   * `sizeof(et_device_allocator_t)`.
   */
  uint32_t struct_size;
  /**
   * The device type that it serves.
   */
  et_device_type_t device_type;
  /**
   * Zero.
   */
  uint8_t reserved[3];
  /**
   * Passed to every function.
   */
  void *user_data;
  /**
   * Allocates `size` bytes, at least 1, on device `index`, aligned to `alignment` (a power of two).
   */
  et_error_t (*allocate)(void *user_data, size_t size, size_t alignment, int8_t index, void **out);
  /**
   * Frees what `allocate` gave.
   */
  void (*deallocate)(void *user_data, void *data, int8_t index);
  /**
   * Copies from host to device, complete on return.
   */
  et_error_t (*copy_from_host)(void *user_data,
                               void *destination,
                               const void *source,
                               size_t size,
                               int8_t index);
  /**
   * Copies from device to host, complete on return.
   */
  et_error_t (*copy_to_host)(void *user_data,
                             void *destination,
                             const void *source,
                             size_t size,
                             int8_t index);
  /**
   * Copies within device `index`, complete on return; null if it cannot: the runtime then copies through the host.
   */
  et_error_t (*copy_on_device)(void *user_data,
                               void *destination,
                               const void *source,
                               size_t size,
                               int8_t index);
  /**
   * Waits for all work that was started on device `index`, by whichever thread; null if delegates leave none behind.
   */
  et_error_t (*synchronize)(void *user_data, int8_t index);
} et_device_allocator_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Registers the allocator of a device type. The table must live as long as the process.
 *
 * Registering the same table again does nothing; another one for the same type is refused and kept among
 * the registration errors.
 */
extern et_error_t et_register_device_allocator(const et_registration_t *registration,
                                               const struct et_device_allocator_t *allocator);

/**
 * The allocator of a device type, as it was registered; null if none is. Its `struct_size` says how much of the table
 * is there.
 */
extern const struct et_device_allocator_t *et_device_allocator_find(et_device_type_t device_type);

/**
 * Allocates `size` bytes on a device through its allocator, aligned to `alignment` (a power of two); free them with
 * `et_device_free`. The host is a device too. For no bytes, `out` becomes null.
 *
 * Fails with `ET_ERROR_NOT_FOUND` and a message that says what brings the allocator if there is none.
 */
extern et_error_t et_device_allocate(et_device_type_t device_type,
                                     int8_t index,
                                     size_t size,
                                     size_t alignment,
                                     void **out);

/**
 * Frees what `et_device_allocate` gave for the same device. Null is ignored.
 */
extern void et_device_free(et_device_type_t device_type, int8_t index, void *data);

/**
 * Copies `size` bytes between two devices, one of which may be the host; the places must not overlap. Complete on
 * return. Copies between different devices, or on one whose allocator does not offer it, go through the host.
 */
extern et_error_t et_device_copy(void *destination,
                                 et_device_type_t destination_type,
                                 int8_t destination_index,
                                 const void *source,
                                 et_device_type_t source_type,
                                 int8_t source_index,
                                 size_t size);

/**
 * Waits for all work that was started on a device, by whichever thread.
 */
extern et_error_t et_device_synchronize(et_device_type_t device_type, int8_t index);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_DEVICE_H */
