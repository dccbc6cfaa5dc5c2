// Runs every conformance case through Module and compares with what eager PyTorch computed.
//
//     conformance PROGRAMS CASES

#include "check.h"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;

namespace {

const std::pair<const char*, ScalarType> kTypes[] = {
    {"u8", ScalarType::Byte},      {"i8", ScalarType::Char},           {"i16", ScalarType::Short},
    {"i32", ScalarType::Int},      {"i64", ScalarType::Long},          {"f16", ScalarType::Half},
    {"bf16", ScalarType::BFloat16}, {"f32", ScalarType::Float},        {"f64", ScalarType::Double},
    {"bool", ScalarType::Bool},    {"c64", ScalarType::ComplexFloat},  {"c128", ScalarType::ComplexDouble},
};

struct Case {
  std::string name, method;
  double rtol = 0, atol = 0;
  bool compare = true;
  std::vector<EValue> inputs, expected;
};

// A program's cases and what their values point to.
struct Suite {
  std::vector<std::string> data;
  std::vector<Case> cases;
  std::vector<TensorPtr> tensors;
  std::vector<std::unique_ptr<std::string>> strings;
  std::vector<std::unique_ptr<executorch::aten::ArrayRef<char>>> views;
};

double number(const std::string& word) {
  return word == "nan" ? NAN : word == "inf" ? INFINITY : word == "-inf" ? -INFINITY : std::stod(word);
}

EValue read_value(const std::string& kind, std::ifstream& words, std::vector<char>& blob, Suite& suite) {
  std::string word;
  if (kind == "none") {
    return EValue();
  }
  words >> word;
  if (kind == "int") {
    return static_cast<int64_t>(std::stoll(word));
  }
  if (kind == "double") {
    return number(word);
  }
  if (kind == "bool") {
    return word == "1";
  }
  if (kind == "string") {
    auto text = std::make_unique<std::string>();
    for (size_t i = 0; i + 1 < word.size(); i += 2) {
      text->push_back(static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16)));
    }
    suite.views.push_back(std::make_unique<executorch::aten::ArrayRef<char>>(text->data(), text->size()));
    suite.strings.push_back(std::move(text));
    return suite.views.back().get();
  }
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& t) { return word == t.first; });
  if (kind != "tensor" || type == std::end(kTypes)) {
    CHECK(false && "a value that the test does not know");
    return EValue();
  }
  size_t rank = 0, offset = 0, bytes = 0;
  words >> rank;
  std::vector<executorch::aten::SizesType> sizes(rank);
  std::vector<executorch::aten::DimOrderType> order;
  for (auto& size : sizes) {
    words >> size;
  }
  for (size_t i = 0; i < rank; ++i) {
    int dim = 0;
    words >> dim;
    order.push_back(static_cast<executorch::aten::DimOrderType>(dim));
  }
  words >> offset >> bytes;
  suite.tensors.push_back(make_tensor_ptr(sizes, blob.data() + offset, order, {}, type->second));
  CHECK(suite.tensors.back()->nbytes() == bytes);
  return suite.tensors.back();
}

Suite read_suite(const std::filesystem::path& path, std::vector<char>& blob) {
  Suite suite;
  std::ifstream words(path);
  std::string word;
  while (words >> word) {
    if (word == "data") {
      words >> word;
      suite.data.push_back(word);
      continue;
    }
    Case& one = suite.cases.emplace_back();
    words >> one.name >> one.method >> one.rtol >> one.atol >> one.compare;
    std::vector<EValue>* values = &one.inputs;
    while (words >> word && word != "end") {
      if (word == "expect") {
        values = &one.expected;
      } else {
        values->push_back(read_value(word, words, blob, suite));
      }
    }
  }
  return suite;
}

// |got - want| <= atol + rtol * |want|; NaN equals NaN.
bool close(double got, double want, const Case& one) {
  if (std::isnan(want) || std::isinf(want)) {
    return std::isnan(want) ? std::isnan(got) : got == want;
  }
  return std::fabs(got - want) <= one.atol + one.rtol * std::fabs(want);
}

// Where the elements of a tensor lie, in row-major order of their coordinates.
std::vector<size_t> places(const Tensor& tensor) {
  std::vector<size_t> offsets = {0};
  for (ssize_t d = 0; d < tensor.dim(); ++d) {
    std::vector<size_t> next;
    for (const size_t offset : offsets) {
      for (ssize_t i = 0; i < tensor.size(d); ++i) {
        next.push_back(offset + static_cast<size_t>(tensor.strides()[static_cast<size_t>(d)]) * static_cast<size_t>(i));
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

// Whether the elements are close, whatever order of dimensions each tensor is laid out in. `parts` are the numbers of
// one element.
template <typename T>
bool elements_close(const Tensor& got, const Tensor& want, size_t parts, const Case& one) {
  const T* a = got.const_data_ptr<T>();
  const T* b = want.const_data_ptr<T>();
  const std::vector<size_t> from = places(got), to = places(want);
  for (size_t i = 0; i < from.size() * parts; ++i) {
    const T x = a[from[i / parts] * parts + i % parts], y = b[to[i / parts] * parts + i % parts];
    if constexpr (std::is_integral_v<T>) {
      if (x != y) {
        return false;
      }
    } else if (!close(static_cast<double>(x), static_cast<double>(y), one)) {
      return false;
    }
  }
  return true;
}

bool data_close(const Tensor& got, const Tensor& want, const Case& one) {
  switch (want.scalar_type()) {
    case ScalarType::Byte:
      return elements_close<uint8_t>(got, want, 1, one);
    case ScalarType::Char:
      return elements_close<int8_t>(got, want, 1, one);
    case ScalarType::Short:
      return elements_close<int16_t>(got, want, 1, one);
    case ScalarType::Int:
      return elements_close<int32_t>(got, want, 1, one);
    case ScalarType::Long:
      return elements_close<int64_t>(got, want, 1, one);
    case ScalarType::Bool:
      return elements_close<bool>(got, want, 1, one);
    case ScalarType::Half:
      return elements_close<executorch::aten::Half>(got, want, 1, one);
    case ScalarType::BFloat16:
      return elements_close<executorch::aten::BFloat16>(got, want, 1, one);
    case ScalarType::Float:
      return elements_close<float>(got, want, 1, one);
    case ScalarType::Double:
      return elements_close<double>(got, want, 1, one);
    case ScalarType::ComplexFloat:
      return elements_close<float>(got, want, 2, one);
    case ScalarType::ComplexDouble:
      return elements_close<double>(got, want, 2, one);
    default:
      return false;
  }
}

bool same(const EValue& got, const EValue& want, const Case& one) {
  if (got.tag != want.tag) {
    return false;
  }
  if (want.isInt()) {
    return got.toInt() == want.toInt();
  }
  if (want.isDouble()) {
    return close(got.toDouble(), want.toDouble(), one);
  }
  if (want.isBool()) {
    return got.toBool() == want.toBool();
  }
  if (want.isString()) {
    return got.toString() == want.toString();
  }
  if (!want.isTensor()) {
    return want.isNone();
  }
  const Tensor& a = got.toTensor();
  const Tensor& b = want.toTensor();
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
      (!one.compare || data_close(a, b, one));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::printf("usage: %s PROGRAMS CASES LEAST_NUMBER_OF_CASES\n", argv[0]);
    return 2;
  }
  const std::filesystem::path programs = argv[1];
  size_t ran = 0;
  std::set<std::filesystem::path> suites;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    if (entry.path().extension() == ".cases") {
      suites.insert(entry.path());
    }
  }
  for (const auto& path : suites) {
    std::filesystem::path blob_path = path;
    std::ifstream file(blob_path.replace_extension(".bin"), std::ios::binary);
    std::vector<char> blob(static_cast<size_t>(std::filesystem::file_size(blob_path)));
    file.read(blob.data(), static_cast<std::streamsize>(blob.size()));
    Suite suite = read_suite(path, blob);
    std::vector<std::string> data;
    for (const std::string& name : suite.data) {
      data.push_back((programs / name).string());
    }
    const std::string name = path.stem().string();
    Module module((programs / (name + ".pte")).string(), data, Module::LoadMode::Mmap);
    for (const Case& one : suite.cases) {
      // The exporter leaves text out, and puts none in its place.
      std::vector<EValue> inputs = one.inputs;
      std::replace_if(inputs.begin(), inputs.end(), [](const EValue& value) { return value.isString(); }, EValue());
      const auto outputs = module.execute(one.method, inputs);
      if (!outputs.ok()) {
        std::printf("%s %s: %s\n", name.c_str(), one.name.c_str(), executorch::runtime::last_error_message());
        ++failures;
        continue;
      }
      ++ran;
      bool good = outputs->size() == one.expected.size();
      for (size_t i = 0; good && i < outputs->size(); ++i) {
        good = same(outputs->at(i), one.expected[i], one);
        if (!good) {
          std::printf("%s %s: output %zu differs\n", name.c_str(), one.name.c_str(), i);
        }
      }
      failures += good ? 0 : 1;
    }
  }
  std::printf("%zu programs, %zu cases ran\n", suites.size(), ran);
  CHECK(ran >= std::stoul(argv[3]));
  return finish();
}
