/// \file
/// The macro that upstream marks the functions of this extension with. The functions here are inline.

#pragma once

#define EXECUTORCH_EXTENSION_CUDA_API __attribute__((visibility("default")))
