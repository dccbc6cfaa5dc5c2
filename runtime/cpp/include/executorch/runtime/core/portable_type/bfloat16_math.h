/// \file
/// Mathematical functions of the 16-bit floating-point types: computed in float and rounded.

#pragma once

#include <cmath>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>

#define ET_INTERNAL_SMALL_FLOAT_FUNCTION(name)                                                \
  inline executorch::runtime::etensor::BFloat16 name(executorch::runtime::etensor::BFloat16 x) { \
    return std::name(static_cast<float>(x));                                                  \
  }                                                                                           \
  inline executorch::runtime::etensor::Half name(executorch::runtime::etensor::Half x) {      \
    return std::name(static_cast<float>(x));                                                  \
  }

namespace executorch {
namespace runtime {
namespace etensor {

ET_INTERNAL_SMALL_FLOAT_FUNCTION(acos)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(asin)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(atan)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(ceil)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(cos)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(cosh)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(erf)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(erfc)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(exp)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(expm1)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(floor)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(log)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(log10)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(log1p)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(log2)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(round)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(sin)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(sinh)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(sqrt)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(tan)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(tanh)
ET_INTERNAL_SMALL_FLOAT_FUNCTION(trunc)

} // namespace etensor
} // namespace runtime
} // namespace executorch

#undef ET_INTERNAL_SMALL_FLOAT_FUNCTION
