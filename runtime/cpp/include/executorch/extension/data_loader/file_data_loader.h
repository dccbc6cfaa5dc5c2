/// \file
/// Loading from a file, by reading it.

#pragma once

#include <cstddef>

#include <executorch/c/loader.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {

/// Reads ranges of a file into memory of the runtime. May be used from several threads.
class FileDataLoader final : public executorch::runtime::internal::NativeLoader {
 public:
  /// Opens a file. Memory is aligned to at least 16, whatever `alignment` asks for less; more than 4096 is
  /// `Error::InvalidArgument`, as is what is no power of two. `Error::NotFound` or `Error::AccessFailed` name the path.
  static executorch::runtime::Result<FileDataLoader> from(
      const char* file_name,
      size_t alignment = alignof(std::max_align_t)) {
    ET_CHECK_OR_RETURN_ERROR(
        alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= kMaxAlignment, InvalidArgument,
        "alignment %zu, expected a power of two up to %zu", alignment, kMaxAlignment);
    et_data_loader_t table{};
    ET_CHECK_OK_OR_RETURN_ERROR(
        executorch::runtime::internal::from_c(et_data_loader_open_file(file_name, ET_LOAD_FILE, &table)));
    return FileDataLoader(table);
  }

  /// The older name of `from`.
  static executorch::runtime::Result<FileDataLoader> From(
      const char* file_name,
      size_t alignment = alignof(std::max_align_t)) {
    return from(file_name, alignment);
  }

 private:
  static constexpr size_t kMaxAlignment = 4096;

  explicit FileDataLoader(const et_data_loader_t& table) : NativeLoader(table) {}
};

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::FileDataLoader;
} // namespace util
} // namespace executor
} // namespace torch
