/// \file
/// Which shared library a function came from.

#pragma once

#include <dlfcn.h>

/// What `et_pal_get_shared_library_name` returns for an address that lies in no file.
inline constexpr const char* DYNAMIC_LIBRARY_NOT_FOUND = "NOT_FOUND";
/// What `et_pal_get_shared_library_name` returns where files cannot be told; never on Linux.
inline constexpr const char* DYNAMIC_LIBRARY_NOT_SUPPORTED = "NOT_SUPPORTED";

/// The path of the library or program that `addr` lies in. The string lives as long as the library is loaded.
inline const char* et_pal_get_shared_library_name(const void* addr) {
  Dl_info info;
  return dladdr(addr, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : DYNAMIC_LIBRARY_NOT_FOUND;
}
