// What the kernels ask of the hardware and cannot say in plain C++. The tests replace this file by one for the CPU.

#pragma once

// Dot product of four signed bytes, added to `sum`.
__device__ inline int dot4(int a, int b, int sum) {
  return __dp4a(a, b, sum);
}

__device__ inline float bits_to_float(unsigned bits) {
  return __uint_as_float(bits);
}

__device__ inline unsigned float_to_bits(float value) {
  return __float_as_uint(value);
}

// To the nearest integer, ties to even.
__device__ inline int round_to_int(float value) {
  return __float2int_rn(value);
}

__device__ inline float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// a * b + c of two bfloat16 each, rounded once.
__device__ inline unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  unsigned result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

// The value of the lane whose number differs by `mask`; all lanes of a warp take part.
__device__ inline float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

// c += a * b for a tile of 16 rows, 8 columns and depth 16 in bfloat16, spread over the lanes of a warp as PTX says
// (mma.m16n8k16): of lane l, with g = l / 4 and t = l % 4,
//   a: rows g, g + 8, g, g + 8 at depths 2t and 2t + 1, the last two 8 deeper
//   b: column g at depths 2t and 2t + 1, then 8 deeper
//   c: row g at columns 2t and 2t + 1, then row g + 8
__device__ inline void multiply_tile(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The high and low halves of a product of 32-bit numbers.
__device__ inline unsigned multiply_high(unsigned a, unsigned b) {
  return __umulhi(a, b);
}
