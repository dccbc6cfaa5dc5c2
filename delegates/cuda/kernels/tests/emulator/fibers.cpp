#include "fibers.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace emulator {

Index threadIdx, blockIdx, blockDim;

namespace {

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Index index;
  Scope waiting;
  bool done;
};

constexpr std::size_t STACK = 64 * 1024;

std::vector<Fiber> fibers;
std::vector<Lanes> warps;
ucontext_t scheduler;
unsigned current;
const std::function<void()>* task;

void start() {
  (*task)();
  fibers[current].done = true;
}

// Lets the threads from `first` to `last` go on if those of them that are left all wait for each other.
bool release(unsigned first, unsigned last, Scope scope) {
  bool any = false;
  for (unsigned i = first; i < last; ++i) {
    if (fibers[i].done) {
      continue;
    }
    if (fibers[i].waiting != scope) {
      return false;
    }
    any = true;
  }
  for (unsigned i = first; i < last; ++i) {
    fibers[i].waiting = Scope::none;
  }
  return any;
}

bool step(unsigned count) {
  bool going = false;
  for (current = 0; current < count; ++current) {
    Fiber& fiber = fibers[current];
    if (fiber.done || fiber.waiting != Scope::none) {
      continue;
    }
    threadIdx = fiber.index;
    swapcontext(&scheduler, &fiber.context);
    going = true;
  }
  for (unsigned first = 0; first < count; first += 32) {
    going |= release(first, first + 32 < count ? first + 32 : count, Scope::warp);
  }
  return release(0, count, Scope::block) || going;
}

void run_block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Fiber& fiber = fibers[i];
    fiber.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    fiber.waiting = Scope::none;
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, start, 0);
  }
  while (step(count)) {
  }
  for (unsigned i = 0; i < count; ++i) {
    if (!fibers[i].done) {
      std::fprintf(stderr, "emulator: a block hangs: its threads wait for different things\n");
      std::abort();
    }
  }
}

} // namespace

void wait(Scope scope) {
  Fiber& fiber = fibers[current];
  fiber.waiting = scope;
  swapcontext(&fiber.context, &scheduler);
}

unsigned lane() {
  return current % 32;
}

void exchange(const void* value, unsigned size, const std::function<void(const Lanes&)>& use) {
  Lanes& lanes = warps[current / 32];
  std::memcpy(lanes[lane()], value, size);
  wait(Scope::warp);
  use(lanes);
  wait(Scope::warp);
}

void run(Index grid, Index block, const std::function<void()>& body) {
  const unsigned count = block.x * block.y * block.z;
  if (fibers.size() < count) {
    fibers.resize(count);
    warps.resize((count + 31) / 32);
    for (Fiber& fiber : fibers) {
      if (!fiber.stack) {
        fiber.stack = std::make_unique<char[]>(STACK);
      }
    }
  }
  task = &body;
  blockDim = block;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block(count);
      }
    }
  }
}

} // namespace emulator
