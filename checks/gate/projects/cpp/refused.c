/* The delegate of ../delegate as another release, or another ABI, would have built it. */
#include "demo.h"

#include <executorch/c/registration.h>

#ifndef GATE_MAJOR
#define GATE_MAJOR ET_ABI_MAJOR
#endif
#ifndef GATE_MINOR
#define GATE_MINOR ET_ABI_MINOR
#endif
#ifndef GATE_FLAGS
#define GATE_FLAGS 0
#endif

__attribute__((constructor)) static void at_load(void) {
  const et_registration_t registration = {
      .struct_size = sizeof(et_registration_t),
      .abi_major = GATE_MAJOR,
      .abi_minor = GATE_MINOR,
      .component_name = "gate-delegate",
      .component_version = "0.0.7",
      .flags = GATE_FLAGS,
  };
  et_register_backend(&registration, &demo_backend);
}
