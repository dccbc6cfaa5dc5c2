// Operators of the user, written as ordinary functions.
//
//     operators PROGRAMS

#include "check.h"

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

using executorch::aten::Tensor;
using executorch::extension::make_boxed_kernel;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using namespace executorch::runtime;

namespace {

// A function of the user: clamps from above instead of from below.
Tensor& upside_down_relu(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (resize_tensor(out, in.sizes()) != Error::Ok) {
    context.fail(Error::InvalidArgument);
    return out;
  }
  const float* from = in.const_data_ptr<float>();
  std::transform(from, from + in.numel(), out.mutable_data_ptr<float>(), [](float x) { return std::min(x, 0.0f); });
  return out;
}

double seen_alpha = 0;
bool seen_flag = false, seen_nothing = false;
std::vector<int64_t> seen_dims;

void takes_everything(
    const Tensor&,
    int64_t,
    double alpha,
    bool flag,
    executorch::aten::ArrayRef<int64_t> dims,
    std::optional<int64_t> absent,
    const executorch::aten::Scalar& scalar,
    Tensor& out) {
  seen_alpha = alpha + scalar.to<double>();
  seen_flag = flag;
  seen_dims.assign(dims.begin(), dims.end());
  seen_nothing = !absent.has_value();
  out.mutable_data_ptr<float>()[0] = 7.0f;
}

EXECUTORCH_LIBRARY(test_ops, "everything.out", takes_everything);

void test_registered() {
  CHECK(registry_has_op_function("test_ops::everything.out"));
  CHECK(!registry_has_op_function("test_ops::nothing.out"));
  // The same kernel again is no error; another one under its name is.
  CHECK(
      register_kernel(make_boxed_kernel("test_ops::everything.out", EXECUTORCH_FN(takes_everything))) == Error::Ok);
  CHECK(
      register_kernel(make_boxed_kernel("test_ops::everything.out", EXECUTORCH_FN(upside_down_relu))) ==
      Error::RegistrationAlreadyRegistered);
}

void test_arguments() {
  const Kernel kernel = make_boxed_kernel("x", EXECUTORCH_FN(takes_everything));
  auto in = make_tensor_ptr({1.0f}), out = make_tensor_ptr({0.0f});
  const std::array<int64_t, 2> dims = {3, 4};
  executorch::aten::ArrayRef<int64_t> list(dims);
  EValue values[] = {in, 1, 0.5, true, &list, EValue(), 2, out};
  EValue* stack[8];
  for (size_t i = 0; i < 8; ++i) {
    stack[i] = &values[i];
  }
  KernelRuntimeContext context;
  kernel.op_(context, {stack, 8});
  CHECK(context.failure_state() == Error::Ok && seen_alpha == 2.5 && seen_flag && seen_nothing);
  CHECK(seen_dims == std::vector<int64_t>({3, 4}) && out->const_data_ptr<float>()[0] == 7.0f);

  // Wrong arguments fail the call.
  values[1] = EValue(0.5);
  KernelRuntimeContext wrong;
  kernel.op_(wrong, {stack, 8});
  CHECK(wrong.failure_state() == Error::InvalidType);
  CHECK_CONTAINS(last_error_message(), "expected Int");
  KernelRuntimeContext short_context;
  kernel.op_(short_context, {stack, 3});
  CHECK(short_context.failure_state() == Error::InvalidArgument);
}

void test_in_a_program(const std::string& programs) {
  auto x = make_tensor_ptr({1, 8}, std::vector<float>{1, -2, 3, -4, 5, -6, 7, -8});
  const auto outputs = [&](std::vector<Kernel> kernels) {
    Module module(programs + "/dynamic_mlp.pte");
    CHECK(module.load_forward(nullptr, nullptr, nullptr, std::move(kernels)) == Error::Ok);
    const auto result = module.forward(x);
    CHECK(result.ok());
    const float* data = result->at(0).toTensor().const_data_ptr<float>();
    return std::vector<float>(data, data + 4);
  };
  const auto plain = outputs({});
  const auto changed = outputs({make_boxed_kernel("aten::relu.out", EXECUTORCH_FN(upside_down_relu))});
  CHECK(plain != changed && plain == outputs({}));
}

} // namespace

int main(int, char** argv) {
  test_registered();
  test_arguments();
  test_in_a_program(argv[1]);
  return finish();
}
