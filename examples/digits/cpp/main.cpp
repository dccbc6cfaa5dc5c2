// Reads handwritten digits with the installed runtime. Prints key=value lines.
//
//     digits digits.pte digits_test.bin

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::last_error_message;

namespace {

constexpr std::uint32_t kBatch = 64;
constexpr std::size_t kDigits = 10;

struct TestSet {
  std::uint32_t count = 0, height = 0, width = 0;
  std::vector<float> pixels;
  std::vector<std::uint8_t> digits;
};

// The file's layout is in README.md.
bool read_test_set(const char* path, TestSet& set) {
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  std::uint32_t header[3] = {};
  file.read(magic, sizeof magic);
  file.read(reinterpret_cast<char*>(header), sizeof header);
  if (!file || std::memcmp(magic, "DIGITS01", sizeof magic) != 0) {
    std::fprintf(stderr, "%s: does not begin with DIGITS01: not a digits test set\n", path);
    return false;
  }
  set.count = header[0], set.height = header[1], set.width = header[2];
  set.pixels.resize(std::size_t{set.count} * set.height * set.width);
  set.digits.resize(set.count);
  file.read(reinterpret_cast<char*>(set.pixels.data()), static_cast<std::streamsize>(set.pixels.size() * sizeof(float)));
  file.read(reinterpret_cast<char*>(set.digits.data()), static_cast<std::streamsize>(set.digits.size()));
  if (!file) {
    std::fprintf(stderr, "%s: shorter than its header says (%u images)\n", path, set.count);
    return false;
  }
  return true;
}

double elapsed_us(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - since).count();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s digits.pte digits_test.bin\n", argv[0]);
    return 2;
  }
  TestSet set;
  if (!read_test_set(argv[2], set)) {
    return 1;
  }

  const auto load_started = std::chrono::steady_clock::now();
  Module module(argv[1]);
  if (const Error error = module.load_method("forward"); error != Error::Ok) {
    std::fprintf(stderr, "%s: loading failed: %s: %s\n", argv[1], to_string(error), last_error_message());
    return 1;
  }
  const double load_ms = elapsed_us(load_started) / 1e3;

  const std::size_t image_size = std::size_t{set.height} * set.width;
  auto images = [&](std::uint32_t first, std::uint32_t count) {
    return from_blob(set.pixels.data() + first * image_size,
                     {static_cast<int>(count), 1, static_cast<int>(set.height), static_cast<int>(set.width)});
  };

  std::uint64_t digest = 0xcbf29ce484222325;
  std::uint32_t correct = 0;
  for (std::uint32_t start = 0; start < set.count; start += kBatch) {
    const std::uint32_t count = std::min(kBatch, set.count - start);
    const auto outputs = module.forward(images(start, count));
    if (!outputs.ok()) {
      std::fprintf(stderr, "forward failed: %s: %s\n", to_string(outputs.error()), last_error_message());
      return 1;
    }
    const float* scores = outputs->at(0).toTensor().const_data_ptr<float>();
    for (std::uint32_t i = 0; i < count; ++i, scores += kDigits) {
      const auto digit = static_cast<std::uint8_t>(std::max_element(scores, scores + kDigits) - scores);
      digest = (digest ^ digit) * 0x100000001b3;
      correct += digit == set.digits[start + i];
    }
  }

  std::vector<double> times;
  for (std::uint32_t i = 0; i < std::min(set.count, 200u); ++i) {
    const auto image = images(i, 1);
    const auto started = std::chrono::steady_clock::now();
    if (!module.forward(image).ok()) {
      return 1;
    }
    times.push_back(elapsed_us(started));
  }
  std::sort(times.begin(), times.end());

  std::printf("language=c++\nimages=%u\ncorrect=%u\naccuracy=%.4f\npredictions=%016llx\nload_ms=%.3f\nlatency_us=%.1f\n",
              set.count, correct, static_cast<double>(correct) / set.count, static_cast<unsigned long long>(digest),
              load_ms, times.empty() ? 0.0 : times[times.size() / 2]);
  return 0;
}
