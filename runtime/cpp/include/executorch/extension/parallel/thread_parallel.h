/// \file
/// The older place of executorch/runtime/kernel/thread_parallel_interface.h.

#pragma once

#include <executorch/runtime/kernel/thread_parallel_interface.h>
