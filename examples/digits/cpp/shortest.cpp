// The shortest program that runs a model: load, run, print.
//
//     shortest digits.pte

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>

using namespace executorch::extension;

int main(int, char** argv) {
  Module module(argv[1]);
  const auto outputs = module.forward(zeros({1, 1, 8, 8}));
  if (!outputs.ok()) {
    std::fprintf(stderr, "%s\n", executorch::runtime::last_error_message());
    return 1;
  }
  const auto scores = outputs->at(0).toTensor();
  for (ssize_t i = 0; i < scores.numel(); ++i) {
    std::printf("%zd: %8.3f\n", i, scores.const_data_ptr<float>()[i]);
  }
}
