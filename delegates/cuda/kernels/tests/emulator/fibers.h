// The threads of a block as fibers on one thread of the CPU.

#pragma once

#include <array>
#include <functional>

namespace emulator {

struct Index {
  unsigned x, y, z;
};
extern Index threadIdx, blockIdx, blockDim;

// Who waits for whom.
enum class Scope { none, warp, block };

// Returns when all threads of the scope wait.
void wait(Scope scope);

// The running thread's number in its warp.
unsigned lane();

// What the lanes of a warp hand to each other: up to 64 bytes each.
using Lanes = std::array<unsigned char[64], 32>;

// Lays `size` bytes out for the other lanes, and calls `use` when all have.
void exchange(const void* value, unsigned size, const std::function<void(const Lanes&)>& use);

// Runs `body` for every thread of every block.
void run(Index grid, Index block, const std::function<void()>& body);

} // namespace emulator
