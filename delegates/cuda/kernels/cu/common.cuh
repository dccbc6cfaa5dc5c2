// Types, and conversions of 16-bit floats.

#pragma once

#include <device.cuh>

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// Lanes of a warp.
constexpr u32 WARP = 32;

// 16 bytes, loaded at once.
struct alignas(16) Bytes16 {
  u32 word[4];
};

// 8 bytes, loaded at once.
struct alignas(8) Bytes8 {
  u32 word[2];
};

__device__ inline float bf16_to_float(u16 bits) {
  return bits_to_float(static_cast<u32>(bits) << 16);
}

// To the nearest, ties to even.
__device__ inline u16 float_to_bf16(float value) {
  const u32 bits = float_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fc0;
  }
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The sum over the lanes of a warp, in all of them.
__device__ inline float warp_sum(float value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    value += shuffle_xor(value, mask);
  }
  return value;
}

__device__ inline float warp_max(float value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    value = fmaxf(value, shuffle_xor(value, mask));
  }
  return value;
}
