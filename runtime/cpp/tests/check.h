// What the tests share: checks that count, and a summary.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

inline int failures = 0;

inline bool report(bool good, const char* file, int line, const char* what) {
  if (!good) {
    std::printf("%s:%d: %s\n", file, line, what);
    ++failures;
  }
  return good;
}

#define CHECK(condition) report((condition), __FILE__, __LINE__, #condition)

// That `text` contains `part`.
#define CHECK_CONTAINS(text, part)                                                                      \
  do {                                                                                                  \
    const std::string text__ = (text);                                                                  \
    if (!CHECK(text__.find(part) != std::string::npos)) {                                               \
      std::printf("  found: %s\n  expected in it: %s\n", text__.c_str(), static_cast<const char*>(part)); \
    }                                                                                                   \
  } while (0)

inline int finish() {
  std::printf(failures == 0 ? "passed\n" : "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}
