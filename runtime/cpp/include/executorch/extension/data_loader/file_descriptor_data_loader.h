/// \file
/// Loading from an open file.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <executorch/c/loader.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {

/// Reads ranges of an open file into memory of the runtime. May be used from several threads.
class FileDescriptorDataLoader final : public executorch::runtime::internal::NativeLoader {
 public:
  /// Duplicates the descriptor, which stays the caller's; its position is not used.
  static executorch::runtime::Result<FileDescriptorDataLoader> from(int descriptor) {
    et_data_loader_t table{};
    ET_CHECK_OK_OR_RETURN_ERROR(
        executorch::runtime::internal::from_c(et_data_loader_from_descriptor(descriptor, &table)));
    return FileDescriptorDataLoader(table);
  }

  /// As `from`, with a URI such as `"fd:///5"`; `Error::InvalidArgument` if it is none.
  static executorch::runtime::Result<FileDescriptorDataLoader> fromFileDescriptorUri(
      const char* file_descriptor_uri,
      ET_UNUSED size_t alignment = alignof(std::max_align_t)) {
    constexpr char kPrefix[] = "fd:///";
    constexpr size_t kPrefixLength = sizeof kPrefix - 1;
    ET_CHECK_OR_RETURN_ERROR(
        file_descriptor_uri != nullptr && std::strncmp(file_descriptor_uri, kPrefix, kPrefixLength) == 0,
        InvalidArgument, "%s is no file descriptor's URI, expected fd:///NUMBER",
        file_descriptor_uri == nullptr ? "null" : file_descriptor_uri);
    const char* digits = file_descriptor_uri + kPrefixLength;
    char* end = nullptr;
    const long descriptor = std::strtol(digits, &end, 10);
    ET_CHECK_OR_RETURN_ERROR(
        end != digits && *end == '\0' && descriptor >= 0 && descriptor <= 0x7fffffff, InvalidArgument,
        "%s is no file descriptor's URI, expected fd:///NUMBER", file_descriptor_uri);
    return from(static_cast<int>(descriptor));
  }

 private:
  explicit FileDescriptorDataLoader(const et_data_loader_t& table) : NativeLoader(table) {}
};

} // namespace extension
} // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::FileDescriptorDataLoader;
} // namespace util
} // namespace executor
} // namespace torch
