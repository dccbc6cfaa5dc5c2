// The CPU's side of cu/device.cuh, and what CUDA C++ has by itself: kernels run as plain functions, the threads of a block as
// fibers that take turns. Written from the descriptions of the instructions, not from what the kernels expect of them.

#pragma once

#include "fibers.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#define __device__
#define __global__
// Blocks run one after another, so that one copy serves all.
#define __shared__ static

using emulator::blockDim;
using emulator::blockIdx;
using emulator::threadIdx;

#define __syncthreads() emulator::wait(emulator::Scope::block)

inline unsigned long long atomicAdd(unsigned long long* place, unsigned long long value) {
  const unsigned long long before = *place;
  *place += value;
  return before;
}

inline int dot4(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::int8_t>(b >> (8 * i));
  }
  return sum;
}

inline float bits_to_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned float_to_bits(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline int round_to_int(float value) {
  return std::isnan(value) ? 0 : static_cast<int>(std::nearbyint(value));
}

inline float half_to_float(unsigned short bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) {
    return fraction == 0 ? sign * INFINITY : NAN;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

// The nearest bfloat16, ties to even.
inline unsigned round_to_bf16(double value) {
  if (std::isnan(value)) {
    return 0x7fff;
  }
  // The two neighbours, whose bits follow each other.
  const float near = static_cast<float>(value);
  const unsigned down = float_to_bits(near) >> 16;
  unsigned best = down;
  for (unsigned candidate : {down - 1, down, down + 1}) {
    const double found = std::abs(bits_to_float(candidate << 16) - value);
    const double least = std::abs(bits_to_float(best << 16) - value);
    if (found < least || (found == least && candidate % 2 == 0)) {
      best = candidate;
    }
  }
  return best & 0xffff;
}

inline unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  unsigned result = 0;
  for (int i = 0; i < 2; ++i) {
    const auto half = [i](unsigned both) { return static_cast<double>(bits_to_float(both >> (16 * i) << 16)); };
    result |= round_to_bf16(half(a) * half(b) + half(c)) << (16 * i);
  }
  return result;
}

inline float shuffle_xor(float value, int mask) {
  float result;
  emulator::exchange(&value, sizeof value, [&](const emulator::Lanes& lanes) {
    std::memcpy(&result, lanes[emulator::lane() ^ static_cast<unsigned>(mask)], sizeof result);
  });
  return result;
}

inline void multiply_tile(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const unsigned own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  emulator::exchange(own, sizeof own, [&](const emulator::Lanes& lanes) {
    const auto operand = [&](unsigned lane, unsigned reg, unsigned half) {
      unsigned word;
      std::memcpy(&word, lanes[lane] + 4 * reg, sizeof word);
      return bits_to_float(word >> (16 * half) << 16);
    };
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = emulator::lane() / 4 + 8 * (i / 2);
      const unsigned column = 2 * (emulator::lane() % 4) + i % 2;
      double sum = c[i];
      for (unsigned k = 0; k < 16; ++k) {
        const unsigned deeper = k / 8;
        const float left = operand(row % 8 * 4 + k % 8 / 2, row / 8 + 2 * deeper, k % 2);
        const float right = operand(column * 4 + k % 8 / 2, 4 + deeper, k % 2);
        sum += static_cast<double>(left) * right;
      }
      c[i] = static_cast<float>(sum);
    }
  });
}

inline unsigned multiply_high(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
