// A program that links the runtime alone: what is missing has a name.
//
//     without_kernels PROGRAMS

#include "check.h"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <string>

using executorch::extension::Module;
using executorch::runtime::Error;

int main(int, char** argv) {
  const std::string programs = argv[1];
  Module module(programs + "/dynamic_mlp.pte");
  CHECK(module.load() == Error::Ok);
  CHECK(module.load_forward() == Error::OperatorMissing);
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "aten::addmm.out");
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "executorch::kernels_optimized");
  CHECK(std::string(executorch::runtime::to_string(Error::OperatorMissing)) == "OperatorMissing");
  return finish();
}
