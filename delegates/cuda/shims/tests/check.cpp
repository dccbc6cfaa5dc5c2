// Stands for a container of AOTInductor: its function catches what the model throws.

#include <cstdint>
#include <exception>
#include <string>

using Check = void (*)(bool, const char*, const char*, uint32_t, const char*);

namespace {

struct Counted {
  explicit Counted(int* count) : count_(count) { ++*count_; }
  ~Counted() { --*count_; }
  int* count_;
};

__attribute__((noinline)) void model(Check check, bool holds, int* alive) {
  Counted counted(alive);
  check(holds, "forward", "model.cpp", 42, "sizes differ");
  if (!holds) {
    std::terminate(); // The code after a check relies on it.
  }
}

} // namespace

extern "C" const char* run(Check check, bool holds, int* alive) {
  static std::string text;
  try {
    model(check, holds, alive);
    return nullptr;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
    text = "something else";
  }
  return text.c_str();
}
