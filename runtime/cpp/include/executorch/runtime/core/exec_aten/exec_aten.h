/// \file
/// The names that operators and programs use for tensors and what belongs to them: `executorch::aten`.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/bfloat16_math.h>
#include <executorch/runtime/core/portable_type/complex.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/core/portable_type/optional.h>
#include <executorch/runtime/core/portable_type/qint_types.h>
#include <executorch/runtime/core/portable_type/scalar.h>
#include <executorch/runtime/core/portable_type/scalar_type.h>
#include <executorch/runtime/core/portable_type/string_view.h>
#include <executorch/runtime/core/portable_type/tensor.h>
#include <executorch/runtime/core/portable_type/tensor_options.h>
#include <executorch/runtime/core/tensor_shape_dynamism.h>

/// The namespace of the runtime's classes below `executorch`.
#define ET_RUNTIME_NAMESPACE runtime

namespace executorch {
namespace aten {

using TensorShapeDynamism = executorch::runtime::TensorShapeDynamism;
using Tensor = executorch::runtime::etensor::Tensor;
using TensorImpl = executorch::runtime::etensor::TensorImpl;
using string_view = std::string_view;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using ScalarType = executorch::runtime::etensor::ScalarType;
template <typename T>
using ArrayRef = executorch::runtime::ArrayRef<T>;
using TensorList = ArrayRef<Tensor>;
using Scalar = executorch::runtime::etensor::Scalar;
using MemoryFormat = executorch::runtime::etensor::MemoryFormat;
using SizesType = Tensor::SizesType;
using DimOrderType = Tensor::DimOrderType;
using StridesType = Tensor::StridesType;
using Device = executorch::runtime::etensor::Device;
using DeviceType = executorch::runtime::etensor::DeviceType;
using DeviceIndex = executorch::runtime::etensor::DeviceIndex;
using Layout = executorch::runtime::etensor::Layout;
using Half = executorch::runtime::etensor::Half;
using BFloat16 = executorch::runtime::etensor::BFloat16;
template <typename T>
using complex = executorch::runtime::etensor::complex<T>;
using qint8 = executorch::runtime::etensor::qint8;
using quint8 = executorch::runtime::etensor::quint8;
using qint32 = executorch::runtime::etensor::qint32;
using quint4x2 = executorch::runtime::etensor::quint4x2;
using quint2x4 = executorch::runtime::etensor::quint2x4;
using IntArrayRef = executorch::runtime::IntArrayRef;
template <typename T>
using OptionalArrayRef = std::optional<ArrayRef<T>>;
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
using executorch::runtime::etensor::compute_numel;
using executorch::runtime::etensor::safe_numel;

} // namespace aten
} // namespace executorch

namespace torch {
namespace executor {
using TensorList = ::executorch::aten::TensorList;
} // namespace executor
} // namespace torch

/// The oldest name of `executorch::aten`.
namespace exec_aten = ::executorch::aten;
