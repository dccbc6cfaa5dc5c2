/// \file
/// Loading from a file, by mapping it.

#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/c/loader.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {

/// Maps a file; pages come in as they are used. The file must not be truncated meanwhile. May be used from several
/// threads.
class MmapDataLoader final : public executorch::runtime::internal::NativeLoader {
 public:
  /// Whether pages are locked in memory.
  enum class MlockConfig {
    /// No.
    NoMlock,
    /// Yes; a failure to lock is an error.
    UseMlock,
    /// If it can be done.
    UseMlockIgnoreErrors,
    /// No, but the kernel is asked to read ahead.
    UseMadvise,
  };

  /// Maps a file. `Error::NotFound` or `Error::AccessFailed` name the path.
  static executorch::runtime::Result<MmapDataLoader> from(
      const char* file_name,
      MlockConfig mlock_config = MlockConfig::UseMlock) {
    et_data_loader_t table{};
    ET_CHECK_OK_OR_RETURN_ERROR(
        executorch::runtime::internal::from_c(et_data_loader_open_file(file_name, mode(mlock_config), &table)));
    return MmapDataLoader(table);
  }

  /// The older name of `from`.
  static executorch::runtime::Result<MmapDataLoader> From(
      const char* file_name,
      MlockConfig mlock_config = MlockConfig::UseMlock) {
    return from(file_name, mlock_config);
  }

  /// The oldest form of `from`.
  static executorch::runtime::Result<MmapDataLoader> From(const char* file_name, bool use_mlock) {
    return from(file_name, use_mlock ? MlockConfig::UseMlock : MlockConfig::NoMlock);
  }

 private:
  static et_load_mode_t mode(MlockConfig config) {
    switch (config) {
      case MlockConfig::NoMlock:
        return ET_LOAD_MMAP;
      case MlockConfig::UseMlock:
        return ET_LOAD_MMAP_MLOCK;
      case MlockConfig::UseMlockIgnoreErrors:
        return ET_LOAD_MMAP_MLOCK_IGNORE_ERRORS;
      case MlockConfig::UseMadvise:
        return ET_LOAD_MMAP_MADVISE;
    }
    return ET_LOAD_MMAP;
  }

  explicit MmapDataLoader(const et_data_loader_t& table) : NativeLoader(table) {}
};

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::MmapDataLoader;
} // namespace util
} // namespace executor
} // namespace torch
