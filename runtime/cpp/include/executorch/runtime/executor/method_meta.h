/// \file
/// What a program says of its methods. The C side is executorch/c/program.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <executorch/c/program.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tag.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What a program says of a tensor. It views the program, which must outlive it.
class TensorInfo final {
 public:
  /// A tensor of rank 0 without a type.
  TensorInfo() : info_{} {
    info_.dtype = static_cast<et_dtype_t>(executorch::aten::ScalarType::Undefined);
  }

  /// What the C interface says.
  explicit TensorInfo(const et_tensor_info_t& info) : info_(info) {}

  /// The sizes; upper bounds if the shape is dynamic.
  Span<const int32_t> sizes() const {
    return {info_.sizes, info_.rank};
  }

  /// Dimension numbers, outermost first.
  Span<const uint8_t> dim_order() const {
    return {info_.dim_order, info_.rank};
  }

  executorch::aten::ScalarType scalar_type() const {
    return static_cast<executorch::aten::ScalarType>(info_.dtype);
  }

  /// How the shape may change.
  executorch::aten::TensorShapeDynamism shape_dynamism() const {
    return static_cast<executorch::aten::TensorShapeDynamism>(info_.dynamism);
  }

  /// Where its memory is planned; for a tensor without planned memory, where the program wants it.
  etensor::Device device() const {
    return {static_cast<etensor::DeviceType>(info_.device_type), info_.device_index};
  }

  /// Whether its memory is the method's: an input is then copied when it is set, and an output cannot be redirected.
  bool is_memory_planned() const {
    return info_.is_memory_planned;
  }

  /// Bytes of the whole tensor.
  size_t nbytes() const {
    return static_cast<size_t>(info_.nbytes);
  }

  /// The qualified name; empty if it has none.
  std::string_view name() const {
    return info_.name == nullptr ? std::string_view() : std::string_view(info_.name);
  }

 private:
  et_tensor_info_t info_;
};

/// What a program says of one of its methods. It views the program, which must outlive it. May be used from several
/// threads. Functions that take an index fail with `Error::InvalidArgument` past the end.
class MethodMeta final {
 public:
  /// No method; for `Result`s and containers.
  MethodMeta() = default;

  /// What the C interface says.
  explicit MethodMeta(const et_method_meta_t* meta) : meta_(meta) {}

  const char* name() const {
    return et_method_meta_name(meta_);
  }

  size_t num_inputs() const {
    return et_method_meta_input_count(meta_);
  }

  /// What input `index` holds.
  Result<Tag> input_tag(size_t index) const {
    return tag(&et_method_meta_input_tag, index);
  }

  /// The tensor of input `index`; `Error::InvalidArgument` if it is none.
  Result<TensorInfo> input_tensor_meta(size_t index) const {
    return tensor(&et_method_meta_input_tensor, index);
  }

  size_t num_outputs() const {
    return et_method_meta_output_count(meta_);
  }

  /// What output `index` holds.
  Result<Tag> output_tag(size_t index) const {
    return tag(&et_method_meta_output_tag, index);
  }

  /// The tensor of output `index`; `Error::InvalidArgument` if it is none.
  Result<TensorInfo> output_tensor_meta(size_t index) const {
    return tensor(&et_method_meta_output_tensor, index);
  }

  /// The number of attributes: named tensors with mutable memory.
  size_t num_attributes() const {
    return et_method_meta_attribute_count(meta_);
  }

  /// The tensor of attribute `index`.
  Result<TensorInfo> attribute_tensor_meta(size_t index) const {
    return tensor(&et_method_meta_attribute_tensor, index);
  }

  /// The number of planned buffers.
  size_t num_memory_planned_buffers() const {
    return et_method_meta_buffer_count(meta_);
  }

  /// Bytes of planned buffer `index`.
  Result<int64_t> memory_planned_buffer_size(size_t index) const {
    ET_ASSIGN_OR_RETURN(const et_buffer_info_t info, buffer(index));
    return static_cast<int64_t>(info.size);
  }

  /// Where planned buffer `index` must live.
  Result<etensor::Device> memory_planned_buffer_device(size_t index) const {
    ET_ASSIGN_OR_RETURN(const et_buffer_info_t info, buffer(index));
    return etensor::Device(static_cast<etensor::DeviceType>(info.device_type), info.device_index);
  }

  /// Whether a part of the method runs on this backend.
  bool uses_backend(const char* backend_name) const {
    for (size_t i = 0; i < num_backends(); ++i) {
      const Result<const char*> name = get_backend_name(i);
      if (name.ok() && std::strcmp(*name, backend_name) == 0) {
        return true;
      }
    }
    return false;
  }

  /// The number of parts that run on a backend.
  size_t num_backends() const {
    return et_method_meta_delegate_count(meta_);
  }

  /// The backend of part `index`.
  Result<const char*> get_backend_name(size_t index) const {
    et_delegate_info_t info{};
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_method_meta_delegate(meta_, index, &info)));
    return info.backend;
  }

  /// The number of instructions.
  size_t num_instructions() const {
    return et_method_meta_instruction_count(meta_);
  }

  /// The older name of `num_memory_planned_buffers`.
  size_t num_non_const_buffers() const {
    return num_memory_planned_buffers();
  }

  /// The older name of `memory_planned_buffer_size`.
  Result<int64_t> non_const_buffer_size(size_t index) const {
    return memory_planned_buffer_size(index);
  }

  /// The record of the C interface.
  const et_method_meta_t* c_meta() const {
    return meta_;
  }

 private:
  Result<Tag> tag(et_error_t (*get)(const et_method_meta_t*, size_t, et_tag_t*), size_t index) const {
    et_tag_t tag = ET_TAG_NONE;
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(get(meta_, index, &tag)));
    return static_cast<Tag>(tag);
  }

  Result<TensorInfo> tensor(et_error_t (*get)(const et_method_meta_t*, size_t, et_tensor_info_t*), size_t index)
      const {
    et_tensor_info_t info{};
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(get(meta_, index, &info)));
    return TensorInfo(info);
  }

  Result<et_buffer_info_t> buffer(size_t index) const {
    et_buffer_info_t info{};
    ET_CHECK_OK_OR_RETURN_ERROR(internal::from_c(et_method_meta_buffer(meta_, index, &info)));
    return info;
  }

  const et_method_meta_t* meta_ = nullptr;
};

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MethodMeta;
using ::executorch::runtime::TensorInfo;
} // namespace executor
} // namespace torch
