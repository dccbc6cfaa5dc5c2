// The product with 4-bit weights in PyTorch's layout for tensor cores (_convert_weight_to_int4pack).
//
// Eight columns of the result take `inner` tiles of depth 16 at a time: int32 [n / 8][k / (16 inner)][32][inner / 2]. Each number
// of a lane holds its part of two tiles, eight nibbles whose pairs lie 16 bits apart, as the tensor core's operand has them:
// nibbles 0 and 4 are depths 2t and 2t + 1, nibbles 1 and 5 those 8 deeper, and the others the same of the second tile.
//
// A weight is (nibble - 8) * scale + zero in bfloat16. A block computes eight columns for up to 16 TILES rows; its warps take
// every 8th part of the depth and add what they have at the end.

#include "common.cuh"

namespace int4pack {

constexpr u32 WARPS = 8;

struct Arguments {
  const u16* a;
  const u32* weights;
  // bfloat16 [k / group][n][2]: scale and zero point.
  const u32* scales;
  u16* out;
  u32 m;
  u32 n;
  u32 k;
  u32 group;
};

// What a lane has of the tiles that lie together, loaded at once.
template <int HALF_INNER>
struct alignas(4 * HALF_INNER) Packed {
  u32 word[HALF_INNER];
};

// Two activations, 0 outside the matrix.
__device__ inline u32 pair(const Arguments& args, u32 row, u32 depth) {
  if (row >= args.m) {
    return 0;
  }
  return *reinterpret_cast<const u32*>(args.a + static_cast<u64>(row) * args.k + depth);
}

template <int HALF_INNER, int TILES>
__device__ void multiply(const Arguments& args) {
  const u32 lane = threadIdx.x;
  const u32 warp = threadIdx.y;
  const u32 g = lane / 4;
  const u32 t = lane % 4;
  const u32 first_row = blockIdx.y * 16 * TILES;
  const u32 steps = args.k / (32 * HALF_INNER);
  float sums[TILES][4] = {};
  for (u32 step = warp; step < steps; step += WARPS) {
    const u64 at = (static_cast<u64>(blockIdx.x) * steps + step) * WARP + lane;
    const Packed<HALF_INNER> packed = reinterpret_cast<const Packed<HALF_INNER>*>(args.weights)[at];
    for (int i = 0; i < HALF_INNER; ++i) {
      const u32 depth = (step * HALF_INNER + i) * 32;
      const u32 both = args.scales[static_cast<u64>(depth / args.group) * args.n + blockIdx.x * 8 + g];
      const u32 scale = (both & 0xffffu) * 0x10001u;
      const u32 zero = (both >> 16) * 0x10001u;
      for (int tile = 0; tile < 2; ++tile) {
        u32 b[2];
        for (int half = 0; half < 2; ++half) {
          // 0x4300 is 128: with the nibble in its lowest bits 128 to 143, from which 136 is taken.
          const u32 biased = (packed.word[i] >> (8 * tile + 4 * half) & 0x000f000fu) | 0x43004300u;
          const u32 centred = fma_bf16x2(biased, 0x3f803f80u, 0xc308c308u);
          b[half] = fma_bf16x2(centred, scale, zero);
        }
        const u32 k = depth + 16 * tile + 2 * t;
        for (int rows = 0; rows < TILES; ++rows) {
          const u32 row = first_row + 16 * rows + g;
          const u32 a[4] = {pair(args, row, k), pair(args, row + 8, k), pair(args, row, k + 8), pair(args, row + 8, k + 8)};
          multiply_tile(sums[rows], a, b);
        }
      }
    }
  }
  __shared__ float shared[WARPS][TILES][4][WARP];
  for (int rows = 0; rows < TILES; ++rows) {
    for (int i = 0; i < 4; ++i) {
      shared[warp][rows][i][lane] = sums[rows][i];
    }
  }
  __syncthreads();
  for (u32 item = warp; item < 4 * TILES; item += WARPS) {
    const u32 rows = item / 4;
    const u32 i = item % 4;
    float sum = 0.0f;
    for (u32 from = 0; from < WARPS; ++from) {
      sum += shared[from][rows][i][lane];
    }
    const u32 row = first_row + 16 * rows + g + (i / 2) * 8;
    if (row < args.m) {
      args.out[static_cast<u64>(row) * args.n + blockIdx.x * 8 + 2 * t + i % 2] = float_to_bf16(sum);
    }
  }
}

} // namespace int4pack

#define INT4PACK_KERNELS(INNER)                                                            \
  extern "C" __global__ void int4pack_##INNER##_few(int4pack::Arguments args) {            \
    int4pack::multiply<INNER / 2, 1>(args);                                                \
  }                                                                                        \
  extern "C" __global__ void int4pack_##INNER##_many(int4pack::Arguments args) {           \
    int4pack::multiply<INNER / 2, 4>(args);                                                \
  }
INT4PACK_KERNELS(2)
INT4PACK_KERNELS(4)
INT4PACK_KERNELS(8)
