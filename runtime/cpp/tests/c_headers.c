/* All C headers in one C11 program, and a call through them. */
#include <executorch/c/backend.h>
#include <executorch/c/caller_stream.h>
#include <executorch/c/cuda_state.h>
#include <executorch/c/current_stream.h>
#include <executorch/c/data_map.h>
#include <executorch/c/device.h>
#include <executorch/c/error.h>
#include <executorch/c/kernel.h>
#include <executorch/c/loader.h>
#include <executorch/c/log.h>
#include <executorch/c/memory.h>
#include <executorch/c/method.h>
#include <executorch/c/program.h>
#include <executorch/c/registration.h>
#include <executorch/c/tensor.h>
#include <executorch/c/threadpool.h>
#include <executorch/c/tracer.h>
#include <executorch/c/value.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  et_data_loader_t loader;
  memset(&loader, 0, sizeof loader);
  const et_error_t error = et_data_loader_open_file("/nowhere/at/all.pte", ET_LOAD_FILE, &loader);
  if (error == ET_OK || strstr(et_last_error_message(), "/nowhere/at/all.pte") == NULL) {
    printf("error %s: %s\n", et_error_name(error), et_last_error_message());
    return 1;
  }
  if (strcmp(et_dtype_name(ET_DTYPE_FLOAT32), "float32") != 0 || et_version()[0] != '1') {
    return 1;
  }
  return 0;
}
