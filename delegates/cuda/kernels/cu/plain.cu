// Products with weights of 4, 5, 6 and 8 bits, for few rows of activations (decoding).
//
// Activations are quantised to 8 bits, 32 at a time, so that four products are one instruction. A warp computes one column of the
// result: each lane takes every 32nd chunk of 32 weights, which all rows of activations share.
//
// Within a chunk, weights of 4 to 6 bits have their low nibbles in 16 bytes, byte i with the elements 2i (low) and 2i + 1 (high).
// Their activations are stored with the even elements first, so that a word of four nibbles meets a word of four activations.

#include "common.cuh"

// The weights of a chunk: `WORDS` pairs of words of four.
constexpr int WORDS = 4;
// Weights of a chunk.
constexpr u32 CHUNK = 32;

// Quantises each chunk of activations by its largest magnitude: a warp for a chunk, a lane for an element.
extern "C" __global__ void quantize_activations(
    const u16* activations, i8* quantized, float* scales, u64 chunks, i32 even_first) {
  const u32 lane = threadIdx.x;
  const u64 chunk = static_cast<u64>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (chunk >= chunks) {
    return;
  }
  const float value = bf16_to_float(activations[chunk * CHUNK + lane]);
  const float scale = warp_max(fabsf(value)) / 127.0f;
  i32 number = scale > 0.0f ? round_to_int(value / scale) : 0;
  number = number < -128 ? -128 : number > 127 ? 127 : number;
  const u32 place = even_first ? (lane % 2) * 16 + lane / 2 : lane;
  quantized[chunk * CHUNK + place] = static_cast<i8>(number);
  if (lane == 0) {
    scales[chunk] = scale;
  }
}

// A chunk of weights as signed bytes: words that meet the activations' even elements and odd ones (or, of 8-bit weights, the
// first half and the second).
struct Chunk {
  i32 first[WORDS];
  i32 second[WORDS];
};

// One bit each of a nibble, in the lowest bits of four bytes.
__device__ inline u32 spread_bits(u32 nibble) {
  return (nibble * 0x00204081u) & 0x01010101u;
}

// Two bits each of a byte, in the lowest bits of four bytes.
__device__ inline u32 spread_pairs(u32 byte) {
  return (byte & 0x03u) | (byte & 0x0cu) << 6 | (byte & 0x30u) << 12 | (byte & 0xc0u) << 18;
}

__device__ inline Chunk nibbles(const u8* data, u64 chunk) {
  const Bytes16 low = reinterpret_cast<const Bytes16*>(data)[chunk];
  Chunk result;
  for (int word = 0; word < WORDS; ++word) {
    result.first[word] = static_cast<i32>(low.word[word] & 0x0f0f0f0fu);
    result.second[word] = static_cast<i32>(low.word[word] >> 4 & 0x0f0f0f0fu);
  }
  return result;
}

// Codes of scales and zero points, one for a group, with a step for 256 weights.
struct Steps {
  const u16* scale;
  const u16* zero;
};

struct Int4 {
  static constexpr bool even_first = true;
  const u8* data;
  const u8* scale;
  const u8* zero;
  Steps steps;

  __device__ Chunk load(u64 chunk) const {
    return nibbles(data, chunk);
  }
  __device__ float scale_of(u64 group, u64 block) const {
    return static_cast<float>(scale[group]) * half_to_float(steps.scale[block]);
  }
  __device__ float zero_of(u64 group, u64 block) const {
    return static_cast<float>(zero[group]) * half_to_float(steps.zero[block]);
  }
};

// As Int4, and the fifth bits: 4 bytes for a chunk, each for a word, its even elements in the low nibble.
struct Int5 {
  static constexpr bool even_first = true;
  Int4 low;
  const u8* high;

  __device__ Chunk load(u64 chunk) const {
    Chunk result = nibbles(low.data, chunk);
    const u32 bits = reinterpret_cast<const u32*>(high)[chunk];
    for (int word = 0; word < WORDS; ++word) {
      const u32 byte = bits >> (8 * word) & 0xffu;
      result.first[word] |= static_cast<i32>(spread_bits(byte & 0xfu) << 4);
      result.second[word] |= static_cast<i32>(spread_bits(byte >> 4) << 4);
    }
    return result;
  }
  __device__ float scale_of(u64 group, u64 block) const {
    return low.scale_of(group, block);
  }
  __device__ float zero_of(u64 group, u64 block) const {
    return low.zero_of(group, block);
  }
};

// Low nibbles, and the upper two bits: 8 bytes for a chunk, first those of the even elements, a byte for a word. 32 is zero.
struct Int6 {
  static constexpr bool even_first = true;
  const u8* low;
  const u8* high;
  const i8* scale;
  const u16* step;

  __device__ Chunk load(u64 chunk) const {
    Chunk result = nibbles(low, chunk);
    const Bytes8 bits = reinterpret_cast<const Bytes8*>(high)[chunk];
    for (int word = 0; word < WORDS; ++word) {
      result.first[word] |= static_cast<i32>(spread_pairs(bits.word[0] >> (8 * word) & 0xffu) << 4);
      result.second[word] |= static_cast<i32>(spread_pairs(bits.word[1] >> (8 * word) & 0xffu) << 4);
    }
    return result;
  }
  __device__ float scale_of(u64 group, u64 block) const {
    return static_cast<float>(scale[group]) * half_to_float(step[block]);
  }
  __device__ float zero_of(u64, u64) const {
    return 32.0f;
  }
};

// A byte for each weight, in order.
struct Int8 {
  static constexpr bool even_first = false;
  const i8* data;
  const u16* scale;
  const i8* zero;

  __device__ Chunk load(u64 chunk) const {
    const Bytes16* bytes = reinterpret_cast<const Bytes16*>(data) + 2 * chunk;
    const Bytes16 halves[2] = {bytes[0], bytes[1]};
    Chunk result;
    for (int word = 0; word < WORDS; ++word) {
      result.first[word] = static_cast<i32>(halves[0].word[word]);
      result.second[word] = static_cast<i32>(halves[1].word[word]);
    }
    return result;
  }
  __device__ float scale_of(u64 group, u64) const {
    return bf16_to_float(scale[group]);
  }
  __device__ float zero_of(u64 group, u64) const {
    return static_cast<float>(zero[group]);
  }
};

// What a result column is made from.
struct Sizes {
  // Columns of the result, weights of each, and log2 of the weights of a group, which is 3 at least.
  u32 n;
  u32 k;
  u32 group_bits;
  // Rows of activations.
  u32 m;
};

// The part of a column that a chunk gives for one row of activations, without the activations' scale.
template <class Weights>
__device__ float chunk_product(
    const Weights& weights, const Chunk& chunk, const i8* activations, u64 first_weight, u32 group_bits) {
  const Bytes16* words = reinterpret_cast<const Bytes16*>(activations);
  const Bytes16 first = words[0];
  const Bytes16 second = words[1];
  const i32 ones = 0x01010101;
  float result = 0.0f;
  i32 product = 0;
  i32 sum = 0;
  // Eight weights belong to word i: those from 8i on, or, of 8-bit weights, those of words 2i and 2i + 1.
  for (int i = 0; i < WORDS; ++i) {
    const bool split = !Weights::even_first;
    const int at = split ? (2 * i) % WORDS : i;
    const bool late = split && i >= WORDS / 2;
    const i32 w0 = late ? chunk.second[at] : chunk.first[at];
    const i32 w1 = split ? (late ? chunk.second[at + 1] : chunk.first[at + 1]) : chunk.second[at];
    const i32 a0 = static_cast<i32>(late ? second.word[at] : first.word[at]);
    const i32 a1 = static_cast<i32>(split ? (late ? second.word[at + 1] : first.word[at + 1]) : second.word[at]);
    product = dot4(w1, a1, dot4(w0, a0, product));
    sum = dot4(ones, a1, dot4(ones, a0, sum));
    // The group ends with this word: always with the last one, and before in groups of 8 and 16.
    const u32 done = 8 * static_cast<u32>(i + 1);
    if (done == CHUNK || (done & ((1u << group_bits) - 1)) == 0) {
      const u64 weight = first_weight + done - 1;
      const u64 group = weight >> group_bits;
      const u64 block = weight >> 8;
      result += weights.scale_of(group, block) *
          (static_cast<float>(product) - weights.zero_of(group, block) * static_cast<float>(sum));
      product = 0;
      sum = 0;
    }
  }
  return result;
}

// Columns of the result for up to `ROWS` rows of activations.
template <int ROWS, class Weights>
__device__ void multiply(
    const Weights& weights, const i8* activations, const float* activation_scales, u16* out, Sizes sizes) {
  const u32 column = blockIdx.x * blockDim.y + threadIdx.y;
  const u32 first_row = blockIdx.y * ROWS;
  if (column >= sizes.n) {
    return;
  }
  const u64 chunks = sizes.k / CHUNK;
  float sums[ROWS] = {};
  for (u64 chunk = threadIdx.x; chunk < chunks; chunk += WARP) {
    const u64 at = column * chunks + chunk;
    const Chunk loaded = weights.load(at);
    for (int row = 0; row < ROWS; ++row) {
      if (first_row + row < sizes.m) {
        const u64 from = (first_row + row) * chunks + chunk;
        sums[row] += activation_scales[from] *
            chunk_product(weights, loaded, activations + from * CHUNK, at * CHUNK, sizes.group_bits);
      }
    }
  }
  for (int row = 0; row < ROWS; ++row) {
    const float sum = warp_sum(sums[row]);
    if (threadIdx.x == 0 && first_row + row < sizes.m) {
      out[static_cast<u64>(first_row + row) * sizes.n + column] = float_to_bf16(sum);
    }
  }
}

#define PLAIN_KERNELS(NAME, WEIGHTS)                                                                                   \
  extern "C" __global__ void NAME##_1(WEIGHTS weights, const i8* a, const float* scales, u16* out, Sizes sizes) { \
    multiply<1>(weights, a, scales, out, sizes);                                                                       \
  }                                                                                                                    \
  extern "C" __global__ void NAME##_2(WEIGHTS weights, const i8* a, const float* scales, u16* out, Sizes sizes) { \
    multiply<2>(weights, a, scales, out, sizes);                                                                       \
  }                                                                                                                    \
  extern "C" __global__ void NAME##_4(WEIGHTS weights, const i8* a, const float* scales, u16* out, Sizes sizes) { \
    multiply<4>(weights, a, scales, out, sizes);                                                                       \
  }
PLAIN_KERNELS(int4_plain, Int4)
PLAIN_KERNELS(int5_plain, Int5)
PLAIN_KERNELS(int6_plain, Int6)
PLAIN_KERNELS(int8_plain, Int8)
