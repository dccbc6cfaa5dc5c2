/// \file
/// Maps from names to data: `.ptd` files, named blobs of a program, and maps of the caller. The C side is
/// executorch/c/data_map.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <executorch/c/data_map.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// A map from names to data. Derive from it to serve data from elsewhere. It must outlive the methods that use it, and
/// its functions may be called from several threads at once.
class NamedDataMap {
 public:
  virtual ~NamedDataMap() = default;

  /// The layout of `key`, valid as long as the map; `Error::NotFound` if there is no such key, `Error::NotSupported` if
  /// it is a blob without a layout.
  ET_NODISCARD virtual Result<const TensorLayout> get_tensor_layout(std::string_view key) const = 0;

  /// The bytes of `key`; `Error::NotFound` if there is no such key. The caller owns the buffer.
  ET_NODISCARD virtual Result<FreeableBuffer> get_data(std::string_view key) const = 0;

  /// Copies the first `size` bytes of `key` to `buffer`.
  ET_NODISCARD virtual Error load_data_into(std::string_view key, void* buffer, size_t size) const = 0;

  /// The number of keys.
  ET_NODISCARD virtual Result<uint32_t> get_num_keys() const = 0;

  /// Key number `index`, valid as long as the map; `Error::InvalidArgument` past the end.
  ET_NODISCARD virtual Result<const char*> get_key(uint32_t index) const = 0;
};

namespace internal {

/// A map as the C interface takes it. It borrows `map`; null as `destroy` says so.
inline et_data_map_t to_c(const NamedDataMap* map) {
  et_data_map_t table{};
  table.struct_size = sizeof table;
  table.user_data = const_cast<NamedDataMap*>(map);
  table.layout = [](void* self, const char* key, et_tensor_layout_t* out) {
    const Result<const TensorLayout> layout = static_cast<const NamedDataMap*>(self)->get_tensor_layout(key);
    if (!layout.ok()) {
      return to_c(layout.error());
    }
    *out = {};
    out->sizes = layout->sizes().data();
    out->dim_order = layout->dim_order().data();
    out->rank = layout->sizes().size();
    out->nbytes = layout->nbytes();
    out->dtype = static_cast<et_dtype_t>(layout->scalar_type());
    return static_cast<et_error_t>(ET_OK);
  };
  table.data = [](void* self, const char* key, et_buffer_t* out) {
    Result<FreeableBuffer> data = static_cast<const NamedDataMap*>(self)->get_data(key);
    if (!data.ok()) {
      return to_c(data.error());
    }
    *out = to_c(std::move(*data));
    return static_cast<et_error_t>(ET_OK);
  };
  table.load_into = [](void* self, const char* key, void* destination, size_t size) {
    return to_c(static_cast<const NamedDataMap*>(self)->load_data_into(key, destination, size));
  };
  table.count = [](void* self) {
    const Result<uint32_t> count = static_cast<const NamedDataMap*>(self)->get_num_keys();
    return count.ok() ? static_cast<size_t>(*count) : size_t{0};
  };
  table.key = [](void* self, size_t index) -> const char* {
    if (index > UINT32_MAX) {
      return nullptr;
    }
    const Result<const char*> key = static_cast<const NamedDataMap*>(self)->get_key(static_cast<uint32_t>(index));
    return key.ok() ? *key : nullptr;
  };
  return table;
}

/// A map of the C interface. It owns the table if `destroy` is set in it.
class NativeDataMap : public NamedDataMap {
 public:
  explicit NativeDataMap(const et_data_map_t& table) : table_(table) {}

  NativeDataMap(NativeDataMap&& other) noexcept : table_(other.table_) {
    other.table_.destroy = nullptr;
  }

  NativeDataMap(const NativeDataMap&) = delete;
  NativeDataMap& operator=(const NativeDataMap&) = delete;
  NativeDataMap& operator=(NativeDataMap&&) = delete;

  ~NativeDataMap() override {
    if (table_.destroy != nullptr) {
      table_.destroy(table_.user_data);
    }
  }

  ET_NODISCARD Result<const TensorLayout> get_tensor_layout(std::string_view key) const override {
    et_tensor_layout_t layout{};
    ET_CHECK_OK_OR_RETURN_ERROR(from_c(table_.layout(table_.user_data, std::string(key).c_str(), &layout)));
    return TensorLayout::create(
        Span<const int32_t>(layout.sizes, layout.rank), Span<const uint8_t>(layout.dim_order, layout.rank),
        static_cast<executorch::aten::ScalarType>(layout.dtype));
  }

  ET_NODISCARD Result<FreeableBuffer> get_data(std::string_view key) const override {
    et_buffer_t buffer{};
    ET_CHECK_OK_OR_RETURN_ERROR(from_c(table_.data(table_.user_data, std::string(key).c_str(), &buffer)));
    return from_c(buffer);
  }

  ET_NODISCARD Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    if (table_.load_into != nullptr) {
      return from_c(table_.load_into(table_.user_data, std::string(key).c_str(), buffer, size));
    }
    ET_ASSIGN_OR_RETURN(const FreeableBuffer data, get_data(key));
    ET_CHECK_OR_RETURN_ERROR(
        size <= data.size(), InvalidArgument, "%zu bytes asked for, the data has %zu", size, data.size());
    if (size != 0) {
      __builtin_memcpy(buffer, data.data(), size);
    }
    return Error::Ok;
  }

  ET_NODISCARD Result<uint32_t> get_num_keys() const override {
    return static_cast<uint32_t>(table_.count(table_.user_data));
  }

  ET_NODISCARD Result<const char*> get_key(uint32_t index) const override {
    const char* key = table_.key(table_.user_data, index);
    ET_CHECK_OR_RETURN_ERROR(
        key != nullptr, InvalidArgument, "key %u, the map has %zu", index, table_.count(table_.user_data));
    return key;
  }

  /// The table, which lives as long as this map.
  const et_data_map_t* c_data_map() const {
    return &table_;
  }

 private:
  et_data_map_t table_;
};

} // namespace internal
} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch
