/// \file
/// `.ptd` files: tensors by name.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <executorch/c/data_map.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {

/// The tensors and blobs of a `.ptd` file. May be used from several threads.
class FlatTensorDataMap final : public executorch::runtime::NamedDataMap {
 public:
  /// The newest version of the file format that is understood.
  static constexpr uint32_t kMaxSupportedSchemaVersion = 0;

  /// Reads a file through `loader`, which must outlive the map, and verifies all of it.
  /// `Error::InvalidExternalData` comes with a message that says what is wrong and where.
  static executorch::runtime::Result<FlatTensorDataMap> load(executorch::runtime::DataLoader* loader) {
    ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument, "%s", "the loader is null");
    const et_data_loader_t table =
        executorch::runtime::internal::to_c(static_cast<const executorch::runtime::DataLoader*>(loader));
    et_data_map_t map{};
    ET_CHECK_OK_OR_RETURN_ERROR(executorch::runtime::internal::from_c(et_data_map_load(&table, &map)));
    return FlatTensorDataMap(map);
  }

  /// Takes the other's data. The other may only be destroyed.
  FlatTensorDataMap(FlatTensorDataMap&& other) noexcept = default;
  FlatTensorDataMap(const FlatTensorDataMap&) = delete;
  FlatTensorDataMap& operator=(const FlatTensorDataMap&) = delete;
  FlatTensorDataMap& operator=(FlatTensorDataMap&&) = delete;

  ET_NODISCARD executorch::runtime::Result<const executorch::runtime::TensorLayout> get_tensor_layout(
      std::string_view key) const override {
    return map_.get_tensor_layout(key);
  }

  ET_NODISCARD executorch::runtime::Result<executorch::runtime::FreeableBuffer> get_data(
      std::string_view key) const override {
    return map_.get_data(key);
  }

  ET_NODISCARD executorch::runtime::Error load_data_into(std::string_view key, void* buffer, size_t size)
      const override {
    return map_.load_data_into(key, buffer, size);
  }

  ET_NODISCARD executorch::runtime::Result<uint32_t> get_num_keys() const override {
    return map_.get_num_keys();
  }

  ET_NODISCARD executorch::runtime::Result<const char*> get_key(uint32_t index) const override {
    return map_.get_key(index);
  }

 private:
  explicit FlatTensorDataMap(const et_data_map_t& map) : map_(map) {}

  executorch::runtime::internal::NativeDataMap map_;
};

} // namespace extension
} // namespace executorch
