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
 * Allocates and copies memory of one device type. Its functions must be thread-safe.
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
   * Allocates `size` bytes on device `index`.
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
 * The allocator of a device type; null if none is registered.
 */
extern const struct et_device_allocator_t *et_device_allocator_find(et_device_type_t device_type);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_DEVICE_H */
