/// \file
/// One map over several.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/c/data_map.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

#define ET_MERGED_DATA_MAP_NAMESPACE merged_data_map

namespace executorch {
namespace extension {
namespace ET_MERGED_DATA_MAP_NAMESPACE {

/// The keys of several maps. It borrows them: they must outlive it. May be used from several threads.
class MergedDataMap final : public executorch::runtime::NamedDataMap {
 public:
  /// One map over all that are not null. `Error::InvalidArgument` names a key that two of them have, or says that
  /// there is no map.
  static executorch::runtime::Result<MergedDataMap> load(
      executorch::runtime::Span<const executorch::runtime::NamedDataMap*> named_data_maps) {
    auto parts = std::make_unique<std::vector<et_data_map_t>>();
    for (const executorch::runtime::NamedDataMap* map : named_data_maps) {
      if (map != nullptr) {
        parts->push_back(executorch::runtime::internal::to_c(map));
      }
    }
    ET_CHECK_OR_RETURN_ERROR(!parts->empty(), InvalidArgument, "%s", "there are no maps to merge");
    std::vector<const et_data_map_t*> pointers;
    for (const et_data_map_t& part : *parts) {
      pointers.push_back(&part);
    }
    et_data_map_t merged{};
    ET_CHECK_OK_OR_RETURN_ERROR(
        executorch::runtime::internal::from_c(et_data_map_merge(pointers.data(), pointers.size(), &merged)));
    return MergedDataMap(std::move(parts), merged);
  }

  /// Takes the other's maps. The other may only be destroyed.
  MergedDataMap(MergedDataMap&& other) noexcept = default;
  MergedDataMap(const MergedDataMap&) = delete;
  MergedDataMap& operator=(const MergedDataMap&) = delete;
  MergedDataMap& operator=(MergedDataMap&&) = delete;

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
  MergedDataMap(std::unique_ptr<std::vector<et_data_map_t>> parts, const et_data_map_t& merged)
      : parts_(std::move(parts)), map_(merged) {}

  // The merged map borrows the tables of its parts.
  std::unique_ptr<std::vector<et_data_map_t>> parts_;
  executorch::runtime::internal::NativeDataMap map_;
};

} // namespace ET_MERGED_DATA_MAP_NAMESPACE

using ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap;

} // namespace extension
} // namespace executorch
