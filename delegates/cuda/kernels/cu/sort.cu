// A stable sort of the slices of a tensor along one dimension.
//
// Elements become unsigned keys whose order is the wanted one: not-a-number is the largest, both zeros are equal. Blocks of 1024
// are sorted in shared memory by key and index, so that equal keys keep their order; then runs are merged in pairs, each element
// finding its place by a binary search in the other run. At the end the values are gathered by their indices, bit by bit what
// they were.

#include "common.cuh"

namespace sorting {

constexpr u32 BLOCK = 1024;

// A tensor as [outer][length][inner]; slices run along the middle.
struct Slices {
  u64 count;
  u64 inner;
  u32 length;
};

__device__ inline u64 place(const Slices& slices, u64 slice, u32 index) {
  return (slice / slices.inner * slices.length + index) * slices.inner + slice % slices.inner;
}

struct Int32 {
  typedef u32 Bits;
  typedef u32 Key;
  static __device__ Key key(Bits bits) {
    return bits ^ 0x80000000u;
  }
};

struct Int64 {
  typedef u64 Bits;
  typedef u64 Key;
  static __device__ Key key(Bits bits) {
    return bits ^ 0x8000000000000000ull;
  }
};

// Floats of any size, by the bits of infinity.
template <class B, u32 INFINITE, u32 SIGN>
struct Float {
  typedef B Bits;
  typedef u32 Key;
  static __device__ Key key(Bits given) {
    const u32 bits = given;
    const u32 magnitude = bits & (SIGN - 1);
    if (magnitude > INFINITE) {
      return 0xffffffffu;
    }
    return magnitude == 0 ? SIGN : bits & SIGN ? SIGN - magnitude : SIGN + magnitude;
  }
};

typedef Float<u32, 0x7f800000u, 0x80000000u> Float32;
typedef Float<u16, 0x7f80u, 0x8000u> BFloat16;
typedef Float<u16, 0x7c00u, 0x8000u> Float16;

template <class Type>
__device__ void sort_blocks(
    const typename Type::Bits* values, typename Type::Key* keys, u32* indices, const Slices& slices, i32 descending) {
  typedef typename Type::Key Key;
  __shared__ Key shared_keys[BLOCK];
  __shared__ u32 shared_indices[BLOCK];
  const u32 blocks = (slices.length + BLOCK - 1) / BLOCK;
  const u64 slice = blockIdx.x / blocks;
  const u32 start = blockIdx.x % blocks * BLOCK;
  for (u32 i = threadIdx.x; i < BLOCK; i += blockDim.x) {
    const u32 index = start + i;
    // Filling sorts behind everything: its key is the largest, and so is its index.
    Key key = static_cast<Key>(~static_cast<Key>(0));
    if (index < slices.length) {
      key = Type::key(values[place(slices, slice, index)]);
      key = descending ? static_cast<Key>(~key) : key;
    }
    shared_keys[i] = key;
    shared_indices[i] = index < slices.length ? index : 0xffffffffu;
  }
  __syncthreads();
  for (u32 size = 2; size <= BLOCK; size *= 2) {
    for (u32 distance = size / 2; distance > 0; distance /= 2) {
      for (u32 i = threadIdx.x; i < BLOCK / 2; i += blockDim.x) {
        const u32 low = 2 * i - (i & (distance - 1));
        const u32 high = low + distance;
        const bool ascending = (low & size) == 0;
        const Key a = shared_keys[low];
        const Key b = shared_keys[high];
        const bool greater = a > b || (a == b && shared_indices[low] > shared_indices[high]);
        if (greater == ascending) {
          const u32 index = shared_indices[low];
          shared_keys[low] = b;
          shared_keys[high] = a;
          shared_indices[low] = shared_indices[high];
          shared_indices[high] = index;
        }
      }
      __syncthreads();
    }
  }
  for (u32 i = threadIdx.x; i < BLOCK; i += blockDim.x) {
    if (start + i < slices.length) {
      keys[slice * slices.length + start + i] = shared_keys[i];
      indices[slice * slices.length + start + i] = shared_indices[i];
    }
  }
}

// Merges runs of `width` in pairs: a thread for an element.
template <class Key>
__device__ void merge(
    const Key* keys, const u32* indices, Key* merged_keys, u32* merged_indices, const Slices& slices, u32 width) {
  const u64 at = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= slices.count * slices.length) {
    return;
  }
  const u64 slice = at / slices.length * slices.length;
  const u64 index = at - slice;
  const u64 pair = index / (2ull * width) * (2ull * width);
  const u64 middle = pair + width < slices.length ? pair + width : slices.length;
  const u64 end = pair + 2ull * width < slices.length ? pair + 2ull * width : slices.length;
  const bool left = index < middle;
  const Key key = keys[at];
  // Of equal keys, those of the left run come first.
  u64 low = left ? middle : pair;
  u64 high = left ? end : middle;
  const u64 other = low;
  while (low < high) {
    const u64 probe = (low + high) / 2;
    const Key found = keys[slice + probe];
    if (found < key || (!left && found == key)) {
      low = probe + 1;
    } else {
      high = probe;
    }
  }
  const u64 to = slice + pair + (index - (left ? pair : middle)) + (low - other);
  merged_keys[to] = key;
  merged_indices[to] = indices[at];
}

template <class Bits>
__device__ void gather(
    const Bits* values, const u32* indices, Bits* sorted, i64* sorted_indices, const Slices& slices) {
  const u64 at = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= slices.count * slices.length) {
    return;
  }
  const u64 slice = at / slices.length;
  const u64 to = place(slices, slice, static_cast<u32>(at % slices.length));
  sorted[to] = values[place(slices, slice, indices[at])];
  sorted_indices[to] = indices[at];
}

} // namespace sorting

#define SORT_KERNEL(NAME, TYPE)                                                                                   \
  extern "C" __global__ void sort_blocks_##NAME(                                                                  \
      const sorting::TYPE::Bits* values, sorting::TYPE::Key* keys, u32* indices, sorting::Slices slices, i32 descending) { \
    sorting::sort_blocks<sorting::TYPE>(values, keys, indices, slices, descending);                               \
  }
SORT_KERNEL(i32, Int32)
SORT_KERNEL(i64, Int64)
SORT_KERNEL(f32, Float32)
SORT_KERNEL(f16, Float16)
SORT_KERNEL(bf16, BFloat16)

#define MERGE_KERNEL(NAME, KEY)                                                                                      \
  extern "C" __global__ void sort_merge_##NAME(                                                                      \
      const KEY* keys, const u32* indices, KEY* merged_keys, u32* merged_indices, sorting::Slices slices, u32 width) { \
    sorting::merge<KEY>(keys, indices, merged_keys, merged_indices, slices, width);                                  \
  }
MERGE_KERNEL(32, u32)
MERGE_KERNEL(64, u64)

#define GATHER_KERNEL(NAME, BITS)                                                                                \
  extern "C" __global__ void sort_gather_##NAME(                                                                 \
      const BITS* values, const u32* indices, BITS* sorted, i64* sorted_indices, sorting::Slices slices) {       \
    sorting::gather<BITS>(values, indices, sorted, sorted_indices, slices);                                      \
  }
GATHER_KERNEL(16, u16)
GATHER_KERNEL(32, u32)
GATHER_KERNEL(64, u64)
