/// \file
/// Where the bytes of a program or data file come from. The C side is executorch/c/loader.h.

#pragma once

#include <cstddef>

#include <executorch/c/loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/// A source of bytes. Derive from it to load from elsewhere. It must outlive whatever is loaded from it, and its
/// functions may be called from several threads at once.
class DataLoader {
 public:
  /// What a range is asked for.
  struct SegmentInfo {
    /// What the range holds.
    enum class Type {
      /// The program's structure.
      Program = ET_SEGMENT_PROGRAM,
      /// Constants.
      Constant = ET_SEGMENT_CONSTANT,
      /// A delegate's payload.
      Backend = ET_SEGMENT_BACKEND,
      /// Initial values of mutable state.
      Mutable = ET_SEGMENT_MUTABLE,
      /// An external data file.
      External = ET_SEGMENT_EXTERNAL,
    };

    /// What the range holds.
    Type segment_type;
    /// The segment's index in the file.
    size_t segment_index;
    /// A name (a backend's id, a data key); null if there is none. Valid during the call.
    const char* descriptor;

    SegmentInfo() = default;

    explicit SegmentInfo(Type segment_type_, size_t segment_index_ = 0, const char* descriptor_ = nullptr)
        : segment_type(segment_type_), segment_index(segment_index_), descriptor(descriptor_) {}
  };

  virtual ~DataLoader() = default;

  /// Makes `size` bytes at `offset` available, aligned to at least 16 in memory. The caller owns the buffer.
  ET_NODISCARD virtual Result<FreeableBuffer> load(
      size_t offset,
      size_t size,
      const SegmentInfo& segment_info) const = 0;

  /// Copies `size` bytes at `offset` to `buffer`. By default `Error::NotImplemented`: the runtime then uses `load`.
  ET_NODISCARD virtual Error load_into(
      size_t /*offset*/,
      size_t /*size*/,
      const SegmentInfo& /*segment_info*/,
      void* /*buffer*/) const {
    return Error::NotImplemented;
  }

  /// The number of bytes that can be loaded.
  ET_NODISCARD virtual Result<size_t> size() const = 0;
};

namespace internal {

inline DataLoader::SegmentInfo from_c(const et_segment_info_t* info) {
  if (info == nullptr) {
    return DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program);
  }
  return DataLoader::SegmentInfo(
      static_cast<DataLoader::SegmentInfo::Type>(info->kind), info->index, info->descriptor);
}

inline et_segment_info_t to_c(const DataLoader::SegmentInfo& info) {
  return {
      sizeof(et_segment_info_t), static_cast<et_segment_kind_t>(info.segment_type), info.segment_index,
      info.descriptor};
}

/// A loader as the C interface takes it. It borrows `loader`; null as `destroy` says so.
inline et_data_loader_t to_c(const DataLoader* loader) {
  et_data_loader_t table{};
  table.struct_size = sizeof table;
  table.user_data = const_cast<DataLoader*>(loader);
  table.load = [](void* self, uint64_t offset, size_t size, const et_segment_info_t* info, et_buffer_t* out) {
    Result<FreeableBuffer> buffer = static_cast<const DataLoader*>(self)->load(offset, size, from_c(info));
    if (!buffer.ok()) {
      return to_c(buffer.error());
    }
    *out = to_c(std::move(*buffer));
    return static_cast<et_error_t>(ET_OK);
  };
  table.load_into = [](void* self, uint64_t offset, size_t size, const et_segment_info_t* info, void* destination) {
    const DataLoader* from = static_cast<const DataLoader*>(self);
    Error error = from->load_into(offset, size, from_c(info), destination);
    if (error == Error::NotImplemented) {
      Result<FreeableBuffer> buffer = from->load(offset, size, from_c(info));
      error = buffer.error();
      if (error == Error::Ok && buffer->size() < size) {
        error = fail(Error::AccessFailed, "the loader gave %zu bytes, expected %zu", buffer->size(), size);
      }
      if (error == Error::Ok && size != 0) {
        __builtin_memcpy(destination, buffer->data(), size);
      }
    }
    return to_c(error);
  };
  table.size = [](void* self, uint64_t* out) {
    const Result<size_t> size = static_cast<const DataLoader*>(self)->size();
    if (size.ok()) {
      *out = *size;
    }
    return to_c(size.error());
  };
  return table;
}

/// A loader of the C interface, which it owns: what the loaders of files are made of.
class NativeLoader : public DataLoader {
 public:
  /// Takes the other's loader. The other may only be destroyed.
  NativeLoader(NativeLoader&& other) noexcept : table_(other.table_) {
    other.table_ = {};
  }
  NativeLoader(const NativeLoader&) = delete;
  NativeLoader& operator=(const NativeLoader&) = delete;
  NativeLoader& operator=(NativeLoader&&) = delete;

  ~NativeLoader() override {
    if (table_.destroy != nullptr) {
      table_.destroy(table_.user_data);
    }
  }

  ET_NODISCARD Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& segment_info)
      const override {
    const et_segment_info_t info = to_c(segment_info);
    et_buffer_t buffer{};
    ET_CHECK_OK_OR_RETURN_ERROR(from_c(table_.load(table_.user_data, offset, size, &info, &buffer)));
    return from_c(buffer);
  }

  ET_NODISCARD Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info, void* destination)
      const override {
    const et_segment_info_t info = to_c(segment_info);
    if (table_.load_into != nullptr) {
      return from_c(table_.load_into(table_.user_data, offset, size, &info, destination));
    }
    ET_ASSIGN_OR_RETURN(const FreeableBuffer buffer, load(offset, size, segment_info));
    if (size != 0) {
      __builtin_memcpy(destination, buffer.data(), size);
    }
    return Error::Ok;
  }

  ET_NODISCARD Result<size_t> size() const override {
    uint64_t size = 0;
    ET_CHECK_OK_OR_RETURN_ERROR(from_c(table_.size(table_.user_data, &size)));
    return static_cast<size_t>(size);
  }

 protected:
  explicit NativeLoader(const et_data_loader_t& table) : table_(table) {}

 private:
  et_data_loader_t table_;
};

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::DataLoader;
} // namespace executor
} // namespace torch
