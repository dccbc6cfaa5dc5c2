/// \file
/// Loading from memory that is shared.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <executorch/extension/data_loader/buffer_data_loader.h>

namespace executorch {
namespace extension {

/// Serves bytes in place and keeps them alive as long as itself. They must be aligned to at least 16.
class SharedPtrDataLoader final : public executorch::runtime::DataLoader {
 public:
  SharedPtrDataLoader(std::shared_ptr<void> data, size_t size)
      : data_(std::move(data)), buffer_(data_.get(), size) {}

  ET_NODISCARD executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset,
      size_t size,
      const DataLoader::SegmentInfo& segment_info) const override {
    return buffer_.load(offset, size, segment_info);
  }

  ET_NODISCARD executorch::runtime::Result<size_t> size() const override {
    return buffer_.size();
  }

  ET_NODISCARD executorch::runtime::Error load_into(
      size_t offset,
      size_t size,
      const SegmentInfo& segment_info,
      void* buffer) const override {
    return buffer_.load_into(offset, size, segment_info, buffer);
  }

 private:
  std::shared_ptr<void> data_;
  BufferDataLoader buffer_;
};

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::SharedPtrDataLoader;
} // namespace util
} // namespace executor
} // namespace torch
