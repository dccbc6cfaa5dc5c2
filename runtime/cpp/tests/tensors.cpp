// Tensors that own their data: makers, views, copies, resizing, element types.

#include "check.h"

#include <executorch/extension/tensor/tensor.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

using executorch::aten::BFloat16;
using executorch::aten::Half;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::aten::TensorShapeDynamism;
using namespace executorch::extension;
using executorch::runtime::Error;

namespace {

template <typename T>
std::vector<T> elements(const TensorPtr& tensor) {
  const T* data = tensor->const_data_ptr<T>();
  return std::vector<T>(data, data + tensor->numel());
}

std::vector<int> sizes(const TensorPtr& tensor) {
  return {tensor->sizes().begin(), tensor->sizes().end()};
}

std::vector<int> strides(const TensorPtr& tensor) {
  return {tensor->strides().begin(), tensor->strides().end()};
}

std::vector<int> dim_order(const TensorPtr& tensor) {
  return {tensor->dim_order().begin(), tensor->dim_order().end()};
}

void test_makers() {
  float data[] = {1, 2, 3, 4, 5, 6};
  auto blob = make_tensor_ptr({2, 3}, data);
  CHECK(blob->dim() == 2 && blob->numel() == 6 && blob->nbytes() == 24 && blob->element_size() == 4);
  CHECK(blob->scalar_type() == ScalarType::Float && blob->dtype() == ScalarType::Float);
  CHECK(sizes(blob) == std::vector<int>({2, 3}) && strides(blob) == std::vector<int>({3, 1}));
  CHECK(dim_order(blob) == std::vector<int>({0, 1}));
  CHECK(blob->const_data_ptr<float>() == data && blob->size(1) == 3);
  CHECK(blob->shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND && blob->device().is_cpu());

  auto column = make_tensor_ptr({2, 3}, data, {1, 0}, {1, 2});
  CHECK(strides(column) == std::vector<int>({1, 2}));
  auto by_strides = from_blob(data, {2, 3}, {1, 2});
  CHECK(dim_order(by_strides) == std::vector<int>({1, 0}));

  int freed = 0;
  {
    auto owned = for_blob(data, {6}).deleter([&](void* what) { freed += what == data; }).make_tensor_ptr();
    auto also = owned;
    owned.reset();
    CHECK(freed == 0);
  }
  CHECK(freed == 1);
  {
    auto owned = from_blob(
        data, {6}, ScalarType::Float, executorch::aten::DeviceType::CPU, [&](void*) { ++freed; });
    auto typed = for_blob(data, {3, 2, 4}, ScalarType::Byte)
                     .dynamism(TensorShapeDynamism::STATIC)
                     .dim_order({0, 2, 1})
                     .make_tensor_ptr();
    CHECK(strides(typed) == std::vector<int>({8, 1, 2}) && typed->nbytes() == 24);
    CHECK(resize_tensor_ptr(typed, {3, 2, 3}) == Error::NotSupported);
  }
  CHECK(freed == 2);

  CHECK(elements<float>(make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f})) == std::vector<float>({1, 2, 3, 4}));
  CHECK(make_tensor_ptr({1, 2, 3})->scalar_type() == ScalarType::Int);
  CHECK(make_tensor_ptr({1.0, 2.0})->scalar_type() == ScalarType::Double);
  CHECK(make_tensor_ptr(std::vector<int64_t>{1, 2})->scalar_type() == ScalarType::Long);
  CHECK(make_tensor_ptr({true, false})->scalar_type() == ScalarType::Bool);
  CHECK(elements<bool>(make_tensor_ptr({true, false, true})) == std::vector<bool>({true, false, true}));
  CHECK(make_tensor_ptr(3.5f)->dim() == 0 && make_tensor_ptr(3.5f)->const_data_ptr<float>()[0] == 3.5f);
  CHECK(make_tensor_ptr(int64_t{7})->const_data_ptr<int64_t>()[0] == 7);
  const std::vector<uint8_t> bytes = {0, 0, 0x80, 0x3f};
  CHECK(elements<float>(make_tensor_ptr({1}, bytes)) == std::vector<float>({1.0f}));
  CHECK(make_tensor_ptr({4}, bytes, ScalarType::Byte)->numel() == 4);
  CHECK(make_tensor_ptr(std::vector<float>{})->numel() == 0);
}

void test_conversion() {
  const auto as_double = make_tensor_ptr({1, 2, 3}, ScalarType::Double);
  CHECK(elements<double>(as_double) == std::vector<double>({1, 2, 3}));
  const auto as_half = make_tensor_ptr({2}, std::vector<float>{1.5f, -0.25f}, {}, {}, ScalarType::Half);
  CHECK(as_half->nbytes() == 4 && as_half->const_data_ptr<Half>()[0].x == 0x3e00);
  CHECK(float(as_half->const_data_ptr<Half>()[1]) == -0.25f);
  const auto as_bfloat16 = clone_tensor_ptr(as_half, ScalarType::BFloat16);
  CHECK(as_bfloat16->const_data_ptr<BFloat16>()[0].x == 0x3fc0);
  const auto wide = clone_tensor_ptr(make_tensor_ptr({true, false}), ScalarType::Long);
  CHECK(elements<int64_t>(wide) == std::vector<int64_t>({1, 0}));
  const auto narrow = clone_tensor_ptr(make_tensor_ptr({300, -1}), ScalarType::Byte);
  CHECK(elements<uint8_t>(narrow) == std::vector<uint8_t>({44, 255}));
}

void test_filled() {
  CHECK(elements<float>(zeros({2, 2})) == std::vector<float>(4, 0.0f));
  CHECK(elements<int64_t>(ones({3}, ScalarType::Long)) == std::vector<int64_t>(3, 1));
  CHECK(elements<double>(full({2}, 2.5, ScalarType::Double)) == std::vector<double>(2, 2.5));
  CHECK(elements<bool>(full({2}, true, ScalarType::Bool)) == std::vector<bool>(2, true));
  CHECK(float(full({1}, 0.1, ScalarType::Half)->const_data_ptr<Half>()[0]) == float(Half(0.1f)));
  CHECK(scalar_tensor(4)->dim() == 0 && scalar_tensor(4)->const_data_ptr<float>()[0] == 4.0f);
  const auto column = empty_strided({2, 3}, {1, 2}, ScalarType::Int);
  const auto like = full_like(column, 9);
  CHECK(like->scalar_type() == ScalarType::Int && strides(like) == strides(column));
  CHECK(elements<int32_t>(like) == std::vector<int32_t>(6, 9));
  CHECK(empty_like(column, ScalarType::Float)->scalar_type() == ScalarType::Float);
  CHECK(elements<float>(ones_like(zeros({2}))) == std::vector<float>(2, 1.0f));
  CHECK(empty({0, 5})->numel() == 0);

  const auto uniform = elements<float>(rand({1000}));
  const auto mean = std::accumulate(uniform.begin(), uniform.end(), 0.0) / 1000;
  CHECK(mean > 0.4 && mean < 0.6);
  for (const float x : uniform) {
    CHECK(x >= 0.0f && x <= 1.0f);
  }
  double square = 0;
  for (const double x : elements<double>(randn({4000}, ScalarType::Double))) {
    square += x * x / 4000;
  }
  CHECK(square > 0.8 && square < 1.2);
  bool seen[5] = {};
  for (const int x : elements<int32_t>(randint(-2, 3, {500}))) {
    if (CHECK(x >= -2 && x < 3)) {
      seen[x + 2] = true;
    }
  }
  CHECK(seen[0] && seen[1] && seen[2] && seen[3] && seen[4]);
}

void test_views_and_copies() {
  auto base = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  auto view = make_tensor_ptr(base, {3, 2});
  CHECK(view->const_data_ptr() == base->const_data_ptr() && sizes(view) == std::vector<int>({3, 2}));
  auto copy = clone_tensor_ptr(base);
  base->mutable_data_ptr<int32_t>()[0] = 100;
  CHECK(view->const_data_ptr<int32_t>()[0] == 100 && copy->const_data_ptr<int32_t>()[0] == 1);
  base.reset();
  CHECK(view->const_data_ptr<int32_t>()[5] == 6);
  auto column = make_tensor_ptr(*copy, {2, 3}, {1, 0});
  CHECK(strides(column) == std::vector<int>({1, 2}));
  CHECK(strides(make_tensor_ptr(column)) == std::vector<int>({1, 2}));
  CHECK(strides(clone_tensor_ptr(column)) == std::vector<int>({1, 2}));
}

void test_resize() {
  auto tensor = zeros({4, 3});
  CHECK(resize_tensor_ptr(tensor, {2, 3}) == Error::Ok);
  CHECK(sizes(tensor) == std::vector<int>({2, 3}) && tensor->numel() == 6);
  CHECK(resize_tensor_ptr(tensor, {3, 4}) == Error::Ok && strides(tensor) == std::vector<int>({4, 1}));
  CHECK(resize_tensor_ptr(tensor, {4, 4}) == Error::NotSupported);
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "48 bytes");
  CHECK(sizes(tensor) == std::vector<int>({3, 4}));
  CHECK(resize_tensor_ptr(tensor, {12}) == Error::InvalidArgument);
  CHECK(resize_tensor_ptr(tensor, {-1, 4}) == Error::InvalidArgument);
  const int64_t wide[] = {2, 2}, too_wide[] = {int64_t{1} << 40, 1};
  CHECK(executorch::runtime::resize_tensor(*tensor, executorch::aten::ArrayRef<int64_t>(wide)) == Error::Ok);
  CHECK(
      executorch::runtime::resize_tensor(*tensor, executorch::aten::ArrayRef<int64_t>(too_wide)) ==
      Error::InvalidArgument);
  CHECK(sizes(tensor) == std::vector<int>({2, 2}));
}

void test_accessor() {
  auto tensor = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  auto accessor = *make_tensor_accessor<int32_t, 2>(*tensor);
  CHECK(accessor[1][2] == 6 && accessor.size(-1) == 3 && accessor.stride(0) == 3);
  accessor[0][1] = 20;
  CHECK(tensor->const_data_ptr<int32_t>()[1] == 20);
  auto transposed = make_tensor_ptr(*tensor, {3, 2}, {1, 0});
  CHECK((*make_tensor_accessor<const int32_t, 2>(*transposed))[1][0] == 20);
  CHECK((make_tensor_accessor<float, 2>(*tensor)).error() == Error::InvalidArgument);
  CHECK((make_tensor_accessor<int32_t, 3>(*tensor)).error() == Error::InvalidArgument);
}

void test_records() {
  SizesType shape[] = {2, 3};
  float data[6] = {};
  TensorImpl impl(ScalarType::Float, 2, shape, data);
  const Tensor tensor(&impl);
  CHECK(tensor.strides()[0] == 3 && tensor.dim_order()[1] == 1 && tensor.nbytes() == 24);
  // A copy has strides of its own.
  const TensorImpl copy(impl);
  CHECK(copy.strides()[0] == 3 && copy.strides().data() != impl.strides().data());
  CHECK(executorch::aten::safe_numel(shape, 2).get() == 6);
  const SizesType negative[] = {2, -3};
  CHECK(executorch::aten::safe_numel(negative, 2).error() == Error::InvalidArgument);
  const SizesType huge[] = {1 << 30, 1 << 30, 1 << 30};
  CHECK(executorch::aten::safe_numel(huge, 3).error() == Error::InvalidArgument);
}

void test_small_floats() {
  // binary16 from float and back, against the definition: nearest, ties to even.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half(static_cast<uint16_t>(bits), Half::from_bits());
    const float value = half;
    const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
        : exponent == 31                   ? (mantissa == 0 ? INFINITY : NAN)
                                           : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
    const double expected = bits >> 15 ? -magnitude : magnitude;
    if (std::isnan(expected)) {
      CHECK(std::isnan(value) && std::isnan(float(Half(value))));
      continue;
    }
    CHECK(value == expected && std::signbit(value) == (bits >> 15 != 0));
    CHECK(Half(value).x == bits);
    if (exponent < 30) {
      // Half way to the next number goes to the even one, a little more goes up.
      const float next = Half(static_cast<uint16_t>(bits + 1), Half::from_bits());
      const float middle = (value + next) / 2;
      CHECK(Half(middle).x == (bits % 2 == 0 ? bits : bits + 1));
      CHECK(Half(std::nextafterf(middle, next)).x == bits + 1);
      CHECK(Half(std::nextafterf(middle, value)).x == bits);
    }
  }
  CHECK(Half(65520.0f).x == 0x7c00 && Half(65519.0f).x == 0x7bff && Half(1e-9f).x == 0);
  CHECK(BFloat16(1.0f).x == 0x3f80 && BFloat16(-2.0f).x == 0xc000);
  CHECK(BFloat16(1.00390625f).x == 0x3f80 && BFloat16(1.01171875f).x == 0x3f82);
  CHECK(std::isnan(float(BFloat16(NAN))) && float(BFloat16(INFINITY)) == INFINITY);
  CHECK(float(std::numeric_limits<Half>::max()) == 65504.0f);
  CHECK(float(Half(1.5f) + Half(2.0f)) == 3.5f && Half(3.0f) / 2 == Half(1.5f));
  static_assert(std::is_same_v<decltype(Half() + Half()), Half>);
  static_assert(std::is_same_v<decltype(Half() + 1.0f), float>);
}

void test_type_facts() {
  namespace rt = executorch::runtime;
  CHECK(rt::elementSize(ScalarType::ComplexDouble) == 16 && rt::elementSize(ScalarType::Bool) == 1);
  CHECK(std::string(rt::toString(ScalarType::BFloat16)) == "BFloat16");
  CHECK(!rt::isValid(ScalarType::Undefined) && rt::isValid(ScalarType::UInt64));
  CHECK(rt::promoteTypes(ScalarType::Byte, ScalarType::Char) == ScalarType::Short);
  CHECK(rt::promoteTypes(ScalarType::Half, ScalarType::BFloat16) == ScalarType::Float);
  CHECK(rt::promoteTypes(ScalarType::Long, ScalarType::Half) == ScalarType::Half);
  CHECK(rt::promoteTypes(ScalarType::Double, ScalarType::ComplexFloat) == ScalarType::ComplexDouble);
  CHECK(rt::promoteTypes(ScalarType::Bool, ScalarType::Byte) == ScalarType::Byte);
  CHECK(rt::promoteTypes(ScalarType::Half, ScalarType::Half, true) == ScalarType::Float);
  CHECK(rt::canCast(ScalarType::Int, ScalarType::Float) && !rt::canCast(ScalarType::Float, ScalarType::Int));
  CHECK(!rt::canCast(ScalarType::Int, ScalarType::Bool));
  static_assert(std::is_same_v<rt::ScalarTypeToCppType<ScalarType::Long>::type, int64_t>);
  static_assert(rt::CppTypeToScalarType<uint16_t>::value == ScalarType::UInt16);
}

} // namespace

int main() {
  test_makers();
  test_conversion();
  test_filled();
  test_views_and_copies();
  test_resize();
  test_accessor();
  test_records();
  test_small_floats();
  test_type_facts();
  return finish();
}
