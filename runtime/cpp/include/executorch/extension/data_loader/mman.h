/// \file
/// Small helpers for mapping files.

#pragma once

#include <cstddef>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/// Bytes of a page.
inline size_t get_os_page_size() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// Writes a file's size; returns 0, or -1 with `errno` set.
inline int get_file_stat(int fd, size_t* out_size) {
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return -1;
  }
  *out_size = static_cast<size_t>(status.st_size);
  return 0;
}

/// `offset` as `mmap` takes it.
inline off_t get_mmap_offset(size_t offset) {
  return static_cast<off_t>(offset);
}

/// Asks the kernel to read pages ahead, in order.
inline void madvise_pages_willneed_sequential(void* addr, size_t len) {
  madvise(addr, len, MADV_WILLNEED);
  madvise(addr, len, MADV_SEQUENTIAL);
}
