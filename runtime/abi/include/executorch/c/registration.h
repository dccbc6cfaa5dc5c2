/**
 * What every registration starts with, and what went wrong with earlier ones.
 *
 * Generated from runtime/abi/src/registration.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_REGISTRATION_H
#define EXECUTORCH_C_REGISTRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The ABI's major number: libraries of another major are refused.
 */
#define ET_ABI_MAJOR 1

/**
 * The ABI's minor number: libraries that need a newer minor are refused.
 */
#define ET_ABI_MINOR 0

/**
 * Flag of [`et_registration_t::flags`]: the component belongs to the same release as the runtime and is
 * refused if its version is another one.
 */
#define ET_REGISTRATION_LOCKSTEP 1

/**
 * Who registers, and what it was built for. Copied by the call that takes it.
 */
typedef struct et_registration_t {
  /**
   * `sizeof(et_registration_t)`.
   */
  uint32_t struct_size;
  /**
   * `ET_ABI_MAJOR` of the header that it was built with.
   */
  uint16_t abi_major;
  /**
   * `ET_ABI_MINOR` of the header that it was built with.
   */
  uint16_t abi_minor;
  /**
   * `ET_REGISTRATION_…` flags.
   */
  uint32_t flags;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The component's name, for messages.
   */
  const char *component_name;
  /**
   * The component's version, for messages and the lockstep check.
   */
  const char *component_version;
} et_registration_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The number of registrations that were refused since the process started.
 */
extern size_t et_registration_error_count(void);

/**
 * Why registration number `index` was refused, naming the libraries; null past the end.
 * The string lives as long as the process.
 */
extern const char *et_registration_error(size_t index);

/**
 * The runtime's version, such as `"1.5.0"`. The string is static.
 */
extern const char *et_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_REGISTRATION_H */
