/* The example of a delegate in C (delegates/sdk/examples/c), watched: it counts handles and looks at what the runtime
 * hands over. The build sets what the macros leave open, to make libraries that the runtime must refuse.
 */
#include "demo.h"

#include <executorch/c/registration.h>

#ifndef NAME
#define NAME "DemoBackend"
#endif
#ifndef MAJOR
#define MAJOR ET_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR ET_ABI_MINOR
#endif
#ifndef AVAILABLE
#define AVAILABLE true
#endif

/* Handles that are alive, for the test to look at. */
int demo_handles;
/* What the delegate was given. */
int demo_user_data;
bool demo_contexts_complete = true;

static bool is_available(void *user_data) {
  (void)user_data;
  return AVAILABLE;
}

static et_error_t init(void *user_data, const et_backend_init_context_t *context, const et_buffer_t *processed,
                       const et_compile_spec_t *specs, size_t spec_count, void **out) {
  et_error_t error;
  demo_user_data = *(const int *)user_data;
  demo_contexts_complete = demo_contexts_complete && context->struct_size >= sizeof(*context) &&
                           context->method_name != NULL && context->data_map != NULL;
  error = demo_backend.init(user_data, context, processed, specs, spec_count, out);
  demo_handles += error == ET_OK;
  return error;
}

static et_error_t execute(void *user_data, const et_backend_execute_context_t *context, void *handle,
                          et_value_t *const *args, size_t count) {
  demo_contexts_complete = demo_contexts_complete && context->struct_size >= sizeof(*context) &&
                           context->method_name != NULL && context->temp_allocator != NULL;
  return demo_backend.execute(user_data, context, handle, args, count);
}

static void destroy(void *user_data, void *handle) {
  demo_backend.destroy(user_data, handle);
  demo_handles--;
}

static int magic = 4711;

/* A table as the first release had it, which ended before `describe`: what lies behind is not the table's. */
static const et_backend_t backend = {
    .struct_size = offsetof(et_backend_t, describe),
    .name = NAME,
    .user_data = &magic,
    .is_available = is_available,
    .init = init,
    .execute = execute,
    .destroy = destroy,
    .describe = (et_error_t(*)(void *, const et_backend_init_context_t *, const et_buffer_t *,
                               const et_compile_spec_t *, size_t, et_text_sink_t, void *))1,
};

/* Registers again; the constructor below does so when the library is loaded. */
et_error_t demo_register(void);
et_error_t demo_register(void) {
  const et_registration_t registration = {
      .struct_size = sizeof(et_registration_t),
      .abi_major = MAJOR,
      .abi_minor = MINOR,
      .component_name = "demo",
      .component_version = "7.8.9",
  };
  return et_register_backend(&registration, &backend);
}

__attribute__((constructor)) static void at_load(void) { demo_register(); }
