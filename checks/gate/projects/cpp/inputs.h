// What consumers in C++ read and print. INPUTS is text: for each float32 tensor its rank, its sizes and its values.
#pragma once

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/evalue.h>

#include <cstdio>
#include <fstream>
#include <utility>
#include <vector>

inline std::vector<executorch::extension::TensorPtr> read_inputs(const char* inputs) {
  std::ifstream file(inputs);
  std::vector<executorch::extension::TensorPtr> tensors;
  for (size_t rank = 0; file >> rank;) {
    std::vector<executorch::aten::SizesType> sizes(rank);
    size_t count = 1;
    for (auto& size : sizes) {
      file >> size;
      count *= static_cast<size_t>(size);
    }
    std::vector<float> values(count);
    for (float& value : values) {
      file >> value;
    }
    tensors.push_back(executorch::extension::make_tensor_ptr(std::move(sizes), std::move(values)));
  }
  return tensors;
}

inline void print_values(const executorch::aten::Tensor& tensor) {
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    std::printf("%.9g\n", static_cast<double>(tensor.const_data_ptr<float>()[i]));
  }
}
