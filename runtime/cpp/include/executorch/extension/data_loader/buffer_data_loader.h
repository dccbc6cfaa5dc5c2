/// \file
/// Loading from memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {

/// Serves bytes of the caller in place. They must be aligned to at least 16 and outlive whatever is loaded from them.
class BufferDataLoader final : public executorch::runtime::DataLoader {
 public:
  BufferDataLoader(const void* data, size_t size) : data_(static_cast<const uint8_t*>(data)), size_(size) {}

  ET_NODISCARD executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset,
      size_t size,
      ET_UNUSED const DataLoader::SegmentInfo& segment_info) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(check(offset, size));
    return executorch::runtime::FreeableBuffer(data_ + offset, size, /*free_fn=*/nullptr);
  }

  ET_NODISCARD executorch::runtime::Result<size_t> size() const override {
    return size_;
  }

  ET_NODISCARD executorch::runtime::Error load_into(
      size_t offset,
      size_t size,
      ET_UNUSED const SegmentInfo& segment_info,
      void* buffer) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(check(offset, size));
    if (size != 0) {
      std::memcpy(buffer, data_ + offset, size);
    }
    return executorch::runtime::Error::Ok;
  }

 private:
  executorch::runtime::Error check(size_t offset, size_t size) const {
    ET_CHECK_OR_RETURN_ERROR(
        offset <= size_ && size <= size_ - offset, InvalidArgument, "%zu bytes at offset %zu of a buffer of %zu", size,
        offset, size_);
    return executorch::runtime::Error::Ok;
  }

  const uint8_t* data_;
  size_t size_;
};

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::BufferDataLoader;
} // namespace util
} // namespace executor
} // namespace torch
