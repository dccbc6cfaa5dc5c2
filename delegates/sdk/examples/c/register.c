/* Registers the backend when the library is loaded. What the runtime refuses, it keeps for whoever loads a program next. */
#include "demo.h"

#include <executorch/c/registration.h>

__attribute__((constructor)) static void at_load(void) {
  const et_registration_t registration = {
      .struct_size = sizeof(et_registration_t),
      .abi_major = ET_ABI_MAJOR,
      .abi_minor = ET_ABI_MINOR,
      .component_name = "demo-delegate",
      .component_version = "7.8.9",
  };
  et_register_backend(&registration, &demo_backend);
}
