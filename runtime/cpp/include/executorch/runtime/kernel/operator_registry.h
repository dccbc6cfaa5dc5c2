/// \file
/// Kernels written in C++. The C side is executorch/c/kernel.h.
///
/// The registry cannot be read as `Kernel`s: it tells names only (`et_kernel_count`, `et_kernel_name`), and most of its
/// kernels are no `OpFunction`s, which know nothing but their arguments: they need what they prepared at load. So there is
/// neither `get_registered_kernels` nor `get_op_function_from_registry`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <executorch/c/kernel.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Runs a kernel on its arguments: the operator's in schema order, its outputs, then the slots of the return values.
using OpFunction = void (*)(KernelRuntimeContext&, Span<EValue*>);

/// The element type and dim order of a tensor argument.
struct TensorMeta {
  executorch::aten::ScalarType dtype_ = executorch::aten::ScalarType::Undefined;
  Span<executorch::aten::DimOrderType> dim_order_;

  TensorMeta() = default;
  TensorMeta(executorch::aten::ScalarType dtype, Span<executorch::aten::DimOrderType> order)
      : dtype_(dtype), dim_order_(order) {}

  bool operator==(const TensorMeta& other) const {
    return equals(other);
  }

  bool operator!=(const TensorMeta& other) const {
    return !equals(other);
  }

  bool equals(const TensorMeta& other) const {
    return dtype_ == other.dtype_ && dim_order_.size() == other.dim_order_.size() &&
        (dim_order_.empty() ||
         std::memcmp(dim_order_.data(), other.dim_order_.data(), dim_order_.size()) == 0);
  }
};

/// The element types and dim orders that a kernel serves, such as `"v1/6;0,1|6;0,1"`.
struct KernelKey {
 public:
  /// Serves all that no kernel with a key does.
  KernelKey() = default;

  /// A key, which must outlive the kernel.
  /* implicit */ KernelKey(const char* kernel_key_data) : key_(kernel_key_data) {}

  bool operator==(const KernelKey& other) const {
    return equals(other);
  }

  bool operator!=(const KernelKey& other) const {
    return !equals(other);
  }

  bool equals(const KernelKey& other) const {
    if (key_ == nullptr || other.key_ == nullptr) {
      return key_ == other.key_;
    }
    return std::strcmp(key_, other.key_) == 0;
  }

  bool is_fallback() const {
    return key_ == nullptr;
  }

  const char* data() const {
    return key_;
  }

 private:
  const char* key_ = nullptr;
};

/// A kernel: an operator's name, what it serves, and the function.
struct Kernel {
  /// `"namespace::name.overload"`, such as `"aten::add.out"`. Must outlive the kernel.
  const char* name_ = nullptr;
  KernelKey kernel_key_;
  OpFunction op_ = nullptr;

  Kernel() = default;
  explicit Kernel(const char* name, OpFunction func) : name_(name), op_(func) {}
  explicit Kernel(const char* name, KernelKey key, OpFunction func) : name_(name), kernel_key_(key), op_(func) {}
};

namespace internal {

/// The longest key, its NUL included.
inline constexpr size_t kKernelKeyBufSize = 659;

/// Writes the key of these tensors to `buf`; `Error::InvalidArgument` if it does not fit.
inline Error make_kernel_key_string(Span<const TensorMeta> key, char* buf, size_t buf_size) {
  size_t length = 0;
  const auto put = [&](const char* format, unsigned number) {
    const int written = length < buf_size ? std::snprintf(buf + length, buf_size - length, format, number) : 0;
    length += written > 0 ? static_cast<size_t>(written) : 0;
  };
  if (buf_size != 0) {
    buf[0] = '\0';
  }
  for (size_t i = 0; i < key.size(); ++i) {
    put(i == 0 ? "v1/%u;" : "|%u;", static_cast<unsigned>(key[i].dtype_));
    for (size_t d = 0; d < key[i].dim_order_.size(); ++d) {
      put(d == 0 ? "%u" : ",%u", key[i].dim_order_[d]);
    }
  }
  ET_CHECK_OR_RETURN_ERROR(
      length < buf_size || (length == 0 && key.empty()), InvalidArgument, "the key of %zu tensors does not fit %zu bytes",
      key.size(), buf_size);
  return Error::Ok;
}

/// Calls a C++ kernel, which is the call's `user_data`.
inline et_error_t run_kernel(et_kernel_context_t* context, et_value_t* const* args, size_t count) {
  KernelRuntimeContext cpp_context(context);
  OpFunction op = nullptr;
  std::memcpy(&op, &context->user_data, sizeof op);
  // The values are the runtime's own; the array of their addresses is const only to C.
  op(cpp_context, Span<EValue*>(reinterpret_cast<EValue**>(const_cast<et_value_t**>(args)), count));
  return to_c(cpp_context.failure_state());
}

/// A kernel as the C interface takes it. Name and key must outlive it.
inline et_kernel_t to_c(const Kernel& kernel) {
  et_kernel_t c{};
  c.struct_size = sizeof c;
  c.name = kernel.name_;
  c.key = kernel.kernel_key_.data();
  c.run = &run_kernel;
  static_assert(sizeof c.user_data == sizeof kernel.op_);
  std::memcpy(&c.user_data, &kernel.op_, sizeof c.user_data);
  return c;
}

/// Keeps a table as long as the process lives.
inline const std::vector<et_kernel_t>& keep_table(std::vector<et_kernel_t>&& table) {
  // Never destroyed: kernels may run until the very end. A list, so that tables stay where they are.
  static auto* const tables = new std::list<std::vector<et_kernel_t>>();
  static auto* const mutex = new std::mutex();
  const std::lock_guard<std::mutex> lock(*mutex);
  tables->push_back(std::move(table));
  return tables->back();
}

} // namespace internal

/// Registers kernels for the whole process: names and keys must live as long as it. Registering a kernel again does
/// nothing; another one under a taken name and key is refused with `Error::RegistrationAlreadyRegistered` and a message
/// that names both libraries. Never ends the process.
ET_NODISCARD inline Error register_kernels(const Span<const Kernel> kernels) {
  std::vector<et_kernel_t> entries;
  for (const Kernel& kernel : kernels) {
    entries.push_back(internal::to_c(kernel));
  }
  const std::vector<et_kernel_t>& table = internal::keep_table(std::move(entries));
  et_registration_t registration{};
  registration.struct_size = sizeof registration;
  registration.abi_major = ET_ABI_MAJOR;
  registration.abi_minor = ET_ABI_MINOR;
  registration.component_name = "C++ kernels";
  registration.component_version = et_version();
  return internal::from_c(et_register_kernels(&registration, table.data(), table.size()));
}

/// As `register_kernels`, for one.
ET_NODISCARD inline Error register_kernel(const Kernel& kernel) {
  return register_kernels(Span<const Kernel>(&kernel, 1));
}

/// Whether a kernel is registered for an operator.
inline bool registry_has_op_function(const char* name, Span<const TensorMeta> /*meta_list*/ = {}) {
  return et_kernel_exists(name);
}

} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Kernel;
using ::executorch::runtime::KernelKey;
using ::executorch::runtime::OpFunction;
using ::executorch::runtime::TensorMeta;
/// As `executorch::runtime::register_kernels`.
inline ::executorch::runtime::Error register_kernels(ArrayRef<Kernel> kernels) {
  return ::executorch::runtime::register_kernels({kernels.data(), kernels.size()});
}
/// As `executorch::runtime::registry_has_op_function`.
inline bool hasOpsFn(const char* name, ArrayRef<TensorMeta> meta_list = {}) {
  return ::executorch::runtime::registry_has_op_function(name, {meta_list.data(), meta_list.size()});
}
} // namespace executor
} // namespace torch
