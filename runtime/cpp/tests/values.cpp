// Values of every kind.

#include "check.h"

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/evalue.h>

#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

using executorch::aten::ArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Tag;

namespace {

void test_numbers() {
  CHECK(EValue().isNone() && EValue().tag == Tag::None);
  CHECK(EValue(int64_t{5}).toInt() == 5 && EValue(7).isInt() && EValue(7u).toInt() == 7);
  CHECK(EValue(2.5).toDouble() == 2.5 && EValue(1.5f).isDouble());
  CHECK(EValue(true).toBool() && EValue(true).isBool() && !EValue(true).isInt());
  CHECK(EValue(Scalar(3)).isInt() && EValue(Scalar(3.0)).isDouble() && EValue(Scalar(false)).isBool());
  CHECK(EValue(4).toScalar().to<int64_t>() == 4 && EValue(4.5).toScalar().to<double>() == 4.5);
  CHECK(EValue(4).isScalar() && !EValue().isScalar());
  CHECK(EValue(6).toScalarType() == ScalarType::Float);
  CHECK(EValue(0).toDevice().is_cpu());
  CHECK(EValue(7).to<int64_t>() == 7 && EValue(true).to<bool>() && EValue(0.5).to<double>() == 0.5);
  CHECK(EValue(4).to<Scalar>().isIntegral(false));
}

void test_complex() {
  using executorch::aten::complex;
  using Whole = complex<float>;
  using Standard = std::complex<float>;
  const std::array<Standard, 5> numbers = {{{1.5f, -2.0f}, {-0.25f, 3.0f}, {0.0f, 7.0f}, {-4.0f, 0.0f}, {1e30f, -1e30f}}};
  for (const Standard& a : numbers) {
    for (const Standard& b : numbers) {
      const auto product = static_cast<Standard>(Whole(a) * Whole(b));
      const auto quotient = static_cast<Standard>(Whole(a) / Whole(b));
      CHECK(std::abs(quotient - a / b) <= 1e-6f * std::abs(a / b));
      CHECK(!std::isfinite(std::abs(a * b)) || std::abs(product - a * b) <= 1e-6f * std::abs(a * b));
    }
  }
  CHECK(std::isinf((Whole(1, 1) / Whole(0, 0)).real()));
  CHECK(complex<double>(Whole(1, 2)) == complex<double>(1, 2));
}

void test_wrong_kinds() {
  const EValue five(5);
  CHECK(five.tryToDouble().error() == Error::InvalidType);
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "the value is Int, expected Double");
  CHECK(five.tryToTensor().error() == Error::InvalidType && five.tryToString().error() == Error::InvalidType);
  CHECK(five.tryToIntList().error() == Error::InvalidType && five.tryToBool().error() == Error::InvalidType);
  CHECK(five.tryToTensorList().error() == Error::InvalidType);
  CHECK(five.tryToListOptionalTensor().error() == Error::InvalidType);
  CHECK(EValue(0.5).tryToInt().error() == Error::InvalidType && EValue().tryToScalar().error() == Error::InvalidType);
  CHECK(*five.tryToInt() == 5 && *five.tryTo<int64_t>() == 5);
}

void test_tensors() {
  auto tensor = make_tensor_ptr({1, 2, 3});
  const EValue shared(tensor), handle(*tensor);
  CHECK(shared.isTensor() && shared.toTensor().unsafeGetTensorImpl() == tensor->unsafeGetTensorImpl());
  CHECK(handle.toTensor().const_data_ptr() == tensor->const_data_ptr());
  CHECK(EValue(std::make_unique<Tensor>(*tensor)).isTensor());
  CHECK(EValue(std::optional<Tensor>(*tensor)).isTensor());
  EValue changeable(tensor);
  Tensor& reference = changeable.toTensor();
  reference.mutable_data_ptr<int32_t>()[0] = 9;
  CHECK(changeable.to<Tensor>().const_data_ptr<int32_t>()[0] == 9);
  const EValue copy = changeable;
  changeable = EValue(1);
  CHECK(copy.isTensor() && changeable.isInt());
  static_assert(!std::is_constructible_v<EValue, Tensor*>, "a pointer is no value");
}

void test_optionals() {
  CHECK(!EValue().toOptional<int64_t>().has_value() && EValue(3).toOptional<int64_t>() == 3);
  CHECK(!EValue().to<std::optional<Tensor>>().has_value());
  CHECK(EValue(3.5).tryToOptional<int64_t>().error() == Error::InvalidType);
  CHECK(EValue(make_tensor_ptr(1.0f)).toOptional<Tensor>().has_value());
}

void test_strings_and_lists() {
  const std::string text = "hello";
  ArrayRef<char> view(text.data(), text.size());
  CHECK(EValue(&view).isString() && EValue(&view).toString() == "hello");
  CHECK(EValue(&view).to<std::string_view>() == "hello");

  const double doubles[] = {0.5, 1.5};
  ArrayRef<double> double_list(doubles);
  CHECK(EValue(&double_list).toDoubleList() == double_list && EValue(&double_list).isDoubleList());
  const bool bools[] = {true, false};
  ArrayRef<bool> bool_list(bools);
  CHECK(EValue(&bool_list).toBoolList()[0] && EValue(&bool_list).to<ArrayRef<bool>>().size() == 2);

  EValue one(1), two(2);
  EValue* ints[] = {&one, &two};
  int64_t unwrapped[2] = {};
  BoxedEvalueList<int64_t> int_list(ints, unwrapped, 2);
  const EValue list(&int_list);
  CHECK(list.isIntList() && list.toIntList().size() == 2 && list.toIntList()[1] == 2);
  two = EValue(0.5);
  CHECK(int_list.tryGet().error() == Error::InvalidType);
  CHECK_CONTAINS(executorch::runtime::last_error_message(), "item 1");
  ints[1] = nullptr;
  CHECK(int_list.tryGet().error() == Error::InvalidState);
}

void test_tensor_lists() {
  auto a = make_tensor_ptr({1, 2}), b = make_tensor_ptr({3});
  EValue first(a), second(b), none;
  EValue* both[] = {&first, &second};
  std::array<Tensor, 2> room = {*a, *a};
  BoxedEvalueList<Tensor> tensors(both, room.data(), 2);
  const EValue list(&tensors);
  CHECK(list.isTensorList() && list.toTensorList().size() == 2);
  CHECK(list.toTensorList()[1].const_data_ptr() == b->const_data_ptr());

  EValue* some[] = {&none, &second, nullptr};
  std::array<std::optional<Tensor>, 3> optional_room;
  BoxedEvalueList<std::optional<Tensor>> optionals(some, optional_room.data(), 3);
  const EValue optional_list(&optionals);
  CHECK(optional_list.isListOptionalTensor());
  const auto items = optional_list.toListOptionalTensor();
  CHECK(items.size() == 3 && !items[0].has_value() && items[1].has_value() && !items[2].has_value());
  CHECK(items[1]->const_data_ptr() == b->const_data_ptr());
}

} // namespace

int main() {
  test_numbers();
  test_complex();
  test_wrong_kinds();
  test_tensors();
  test_optionals();
  test_strings_and_lists();
  test_tensor_lists();
  return finish();
}
