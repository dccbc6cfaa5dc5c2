// Random numbers: Philox4x32 with ten rounds, as published by Salmon et al. (2011).
//
// A device has one state, a seed and a counter. A call first takes as many counters as it needs, on the device, so that a
// replayed graph draws new numbers and calls on several streams draw different ones.

#include "common.cuh"

namespace philox {

struct State {
  u64 seed;
  u64 counter;
};

struct Draw {
  u32 word[4];
};

__device__ inline Draw draw(u64 seed, u64 counter) {
  u32 c[4] = {static_cast<u32>(counter), static_cast<u32>(counter >> 32), 0, 0};
  u32 key[2] = {static_cast<u32>(seed), static_cast<u32>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const u32 high0 = multiply_high(0xd2511f53u, c[0]);
    const u32 low0 = 0xd2511f53u * c[0];
    const u32 high1 = multiply_high(0xcd9e8d57u, c[2]);
    const u32 low1 = 0xcd9e8d57u * c[2];
    c[0] = high1 ^ c[1] ^ key[0];
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ key[1];
    c[3] = low0;
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return Draw{{c[0], c[1], c[2], c[3]}};
}

// In [0, 1), a multiple of 2^-24.
__device__ inline float uniform(u32 word) {
  return static_cast<float>(word & 0xffffffu) * (1.0f / 16777216.0f);
}

} // namespace philox

// Takes `count` counters: the first one's number goes to `base`, with the seed.
extern "C" __global__ void random_reserve(philox::State* state, philox::State* base, u64 count) {
  base->seed = state->seed;
  base->counter = atomicAdd(&state->counter, count);
}

// Four numbers of a counter for each thread.
extern "C" __global__ void random_uniform_f32(const philox::State* base, float* out, u64 count) {
  const u64 thread = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const philox::Draw draw = philox::draw(base->seed, base->counter + thread);
  for (u64 i = 0; i < 4 && 4 * thread + i < count; ++i) {
    out[4 * thread + i] = philox::uniform(draw.word[i]);
  }
}

// Rounded towards zero, so that 1 is never drawn.
extern "C" __global__ void random_uniform_bf16(const philox::State* base, u16* out, u64 count) {
  const u64 thread = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const philox::Draw draw = philox::draw(base->seed, base->counter + thread);
  for (u64 i = 0; i < 4 && 4 * thread + i < count; ++i) {
    out[4 * thread + i] = static_cast<u16>(float_to_bits(philox::uniform(draw.word[i])) >> 16);
  }
}

// Two numbers of a counter for each thread: `low` and the rest of 64 bits by `range`.
extern "C" __global__ void random_integers(const philox::State* base, i64* out, u64 count, i64 low, u64 range) {
  const u64 thread = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const philox::Draw draw = philox::draw(base->seed, base->counter + thread);
  for (u64 i = 0; i < 2 && 2 * thread + i < count; ++i) {
    const u64 bits = static_cast<u64>(draw.word[2 * i]) << 32 | draw.word[2 * i + 1];
    out[2 * thread + i] = static_cast<i64>(static_cast<u64>(low) + bits % range);
  }
}
