// An operator of the user, in a library that Python loads.

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

namespace {

Tensor& doubled(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (executorch::runtime::resize_tensor(out, in.sizes()) != Error::Ok) {
    context.fail(Error::InvalidArgument);
    return out;
  }
  for (ssize_t i = 0; i < in.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = 2 * in.const_data_ptr<float>()[i];
  }
  return out;
}

} // namespace

EXECUTORCH_LIBRARY(gate, "doubled.out", doubled);
