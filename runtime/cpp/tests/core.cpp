// Results, views, buffers, allocators, options, checks and logging.

#include "check.h"

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/platform/runtime.h>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using executorch::extension::MallocMemoryAllocator;
using namespace executorch::runtime;

namespace {

Result<int> half(int n) {
  ET_CHECK_OR_RETURN_ERROR(n % 2 == 0, InvalidArgument, "%d is odd", n);
  return n / 2;
}

Result<int> quarter(int n) {
  const int once = ET_UNWRAP(half(n));
  ET_ASSIGN_OR_RETURN(const int twice, half(once), "half of %d", once);
  return twice;
}

Error check_all(int n) {
  ET_CHECK_OK_OR_RETURN_ERROR(half(n).error());
  ET_CHECK_OK_OR_RETURN_ERROR(half(n / 2).error(), "the second half");
  return Error::Ok;
}

bool is_even(int n) {
  ET_CHECK_OR_RETURN_FALSE(n % 2 == 0, "%d is odd", n);
  return true;
}

void test_results() {
  CHECK(half(4).ok() && *half(4) == 2 && half(4).error() == Error::Ok);
  CHECK(half(3).error() == Error::InvalidArgument && std::string(last_error_message()) == "3 is odd");
  CHECK(*quarter(8) == 2 && quarter(7).error() == Error::InvalidArgument);
  CHECK(quarter(6).error() == Error::InvalidArgument);
  CHECK(std::string(last_error_message()) == "half of 3: 3 is odd");
  CHECK(check_all(4) == Error::Ok && check_all(6) == Error::InvalidArgument);
  CHECK(std::string(last_error_message()) == "the second half: 3 is odd");
  CHECK(is_even(2) && !is_even(3));
  Result<std::unique_ptr<int>> owner(std::make_unique<int>(5));
  Result<std::unique_ptr<int>> moved(std::move(owner));
  CHECK(**moved == 5 && *moved.get() == 5);
  const Result<std::string> text(std::string("x"));
  CHECK(text->size() == 1);
  CHECK(Result<int>(Error::Ok).error() == Error::Internal);
  CHECK(std::string(to_string(Error::DelegateInvalidHandle)) == "DelegateInvalidHandle");
  CHECK(static_cast<uint32_t>(Error::InvalidProgram) == 0x23);
}

void test_views() {
  int numbers[] = {1, 2, 3};
  Span<int> span(numbers);
  span[1] = 20;
  const Span<const int> constant = span;
  CHECK(constant.size() == 3 && constant[1] == 20 && constant.data() == numbers && !constant.empty());
  int sum = 0;
  for (const int number : span) {
    sum += number;
  }
  CHECK(sum == 24 && Span<int>().empty());
  const std::vector<int> vector = {4, 5, 6};
  const ArrayRef<int> array(vector);
  CHECK(array.front() == 4 && array.back() == 6 && array.slice(1).size() == 2 && array.slice(1, 1)[0] == 5);
  CHECK(array == ArrayRef<int>(vector.data(), 3) && array != array.slice(0, 2) && makeArrayRef(7).size() == 1);
  const auto call = [](FunctionRef<int(int)> f) { return f(20); };
  int base = 1;
  CHECK(call([&base](int x) { return x + base++; }) == 21 && base == 2);
  CHECK(!FunctionRef<void()>());
}

void test_buffers() {
  int freed = 0;
  const auto count = [](void* context, void*, size_t size) { *static_cast<int*>(context) += static_cast<int>(size); };
  char data[3] = {};
  {
    FreeableBuffer buffer(data, 3, count, &freed);
    FreeableBuffer moved(std::move(buffer));
    CHECK(buffer.size() == 0 && moved.data() == data && *moved.data_safe() == data);
    CHECK(moved.data_uint64_type().error() == Error::InvalidType);
  }
  CHECK(freed == 3);
  FreeableBuffer again(data, 2, count, &freed);
  again.Free();
  again.Free();
  CHECK(freed == 5 && again.size() == 0);
  const FreeableBuffer address(uint64_t{1} << 40, 8, static_cast<FreeableBuffer::FreeUInt64Fn>(nullptr));
  CHECK(*address.data_uint64_type() == uint64_t{1} << 40 && address.data_safe().error() == Error::InvalidType);
}

void test_allocators() {
  alignas(64) uint8_t memory[256];
  MemoryAllocator allocator(sizeof memory, memory);
  CHECK(allocator.allocate(3, 1) == memory && allocator.used_size() == 3);
  CHECK(allocator.allocate(8, 64) == memory + 64 && allocator.free_size() == 256 - 72);
  CHECK(allocator.allocate(4, 3) == nullptr);
  CHECK(allocator.allocate(185, 1) == nullptr && allocator.allocate(SIZE_MAX, 1) == nullptr);
  CHECK(allocator.allocate(184, 1) != nullptr && allocator.free_size() == 0);
  allocator.reset();
  CHECK(allocator.used_size() == 0 && allocator.allocateList<uint64_t>(32) != nullptr);
  CHECK(allocator.allocateList<uint64_t>(SIZE_MAX / 4) == nullptr && allocator.allocateInstance<int>() == nullptr);

  MallocMemoryAllocator system;
  for (const size_t alignment : {1, 16, 64, 4096}) {
    auto* block = static_cast<uint8_t*>(system.allocate(100, alignment));
    if (CHECK(block != nullptr && reinterpret_cast<uintptr_t>(block) % alignment == 0)) {
      std::memset(block, 1, 100);
    }
  }
  CHECK(system.allocate(100, 48) == nullptr && system.allocate(SIZE_MAX - 8, 64) == nullptr);
  system.reset();

  uint8_t first[10], second[20];
  Span<uint8_t> spans[] = {first, second};
  HierarchicalAllocator planned(spans);
  CHECK(*planned.get_offset_address(1, 5, 15) == second + 5);
  CHECK(planned.get_offset_address(1, 6, 15).error() == Error::MemoryAllocationFailed);
  CHECK(planned.get_offset_address(0, SIZE_MAX, 2).error() == Error::MemoryAllocationFailed);
  CHECK(planned.get_offset_address(2, 0, 0).error() == Error::InvalidArgument);
}

void test_layouts() {
  const int32_t sizes[] = {2, 3, 4};
  const uint8_t order[] = {0, 2, 1}, wrong[] = {0, 2, 2};
  const auto layout = TensorLayout::create(sizes, order, executorch::aten::ScalarType::Half);
  CHECK(layout.ok() && layout->nbytes() == 48 && layout->dim_order()[1] == 2);
  CHECK(TensorLayout::create(sizes, wrong, executorch::aten::ScalarType::Half).error() == Error::InvalidArgument);
  const int32_t negative[] = {2, -3, 4};
  CHECK(TensorLayout::create(negative, order, executorch::aten::ScalarType::Half).error() == Error::InvalidArgument);
  int32_t strides[3];
  CHECK(dim_order_to_stride(sizes, order, 3, strides) == Error::Ok);
  CHECK(strides[0] == 12 && strides[1] == 1 && strides[2] == 3);
  uint8_t back[3];
  CHECK(stride_to_dim_order(strides, 3, back) == Error::Ok && std::memcmp(back, order, 3) == 0);
  CHECK(dim_order_to_stride(sizes, wrong, 3, strides) == Error::InvalidArgument);
  const uint8_t last[] = {0, 2, 3, 1};
  CHECK(is_channels_last_dim_order(last, 4) && !is_contiguous_dim_order(last, 4));
}

void test_options() {
  BackendOptions<2> options;
  CHECK(options.set_option("threads", 4) == Error::Ok && options.set_option("fast", true) == Error::Ok);
  CHECK(options.set_option("threads", 5) == Error::Ok && options.view().size() == 2);
  CHECK(options.set_option("third", "x") == Error::InvalidArgument);
  int threads = 0;
  CHECK(options.get_option("threads", threads) == Error::Ok && threads == 5);
  bool fast = false;
  CHECK(options.get_option("threads", fast) == Error::InvalidArgument);
  CHECK(options.get_option("slow", fast) == Error::NotFound);
  LoadBackendOptionsMap map;
  CHECK(map.set_options("XnnpackBackend", options.view()) == Error::Ok && map.size() == 1);
  CHECK(map.has_options("XnnpackBackend") && map.get_options("XnnpackBackend").size() == 2);
  CHECK(!map.has_options("Other") && map.get_options("Other").empty());
  CHECK(map.set_options("", options.view()) == Error::InvalidArgument);
  BackendOptions<1> text;
  CHECK(text.set_option("name", "value") == Error::Ok);
  const char* value = nullptr;
  CHECK(text.get_option("name", value) == Error::Ok && std::string(value) == "value");
}

std::string logged;

void keep(et_timestamp_t, et_pal_log_level_t level, const char* file, const char*, size_t line, const char* message, size_t length) {
  logged += static_cast<char>(level) + std::string(file) + (line > 0 ? ":" : "") + std::string(message, length) + "\n";
}

void test_logging() {
  runtime_init();
  ET_LOG(Info, "nobody hears this");
  CHECK(register_pal(PalImpl::create(keep, __FILE__)));
  ET_LOG(Info, "%d and %s", 1, "two");
  CHECK_CONTAINS(logged, "Icore.cpp:1 and two\n");
  et_log(ET_LOG_ERROR, "from the runtime");
  CHECK_CONTAINS(logged, "Efrom the runtime\n");
  const et_timestamp_t before = pal_current_ticks();
  CHECK(pal_current_ticks() >= before);
}

// A failed check says what and where, and ends the process.
void test_fatal_checks() {
  int pipe_ends[2];
  if (!CHECK(pipe(pipe_ends) == 0)) {
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], 2);
    const Result<int> failed = half(5);
    std::printf("%d", *failed);
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  char part[256];
  for (ssize_t got = 0; (got = read(pipe_ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  CHECK_CONTAINS(text, "InvalidArgument");
  CHECK_CONTAINS(text, "5 is odd");
}

} // namespace

int main() {
  test_results();
  test_views();
  test_buffers();
  test_allocators();
  test_layouts();
  test_options();
  test_fatal_checks();
  test_logging();
  return finish();
}
