/// \file
/// Tracing what a method does. The C side is executorch/c/tracer.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <executorch/c/tracer.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/types.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// The number of a tracked allocator.
using AllocatorID = uint32_t;
/// The index of a chain of instructions.
using ChainID = int32_t;
/// The index of an instruction in its chain.
using DebugHandle = uint32_t;
/// A delegate's own number of an event.
using DelegateDebugIntId = int32_t;

/// Outside of any chain.
inline constexpr ChainID kUnsetChainId = -1;
/// Outside of any instruction.
inline constexpr DebugHandle kUnsetDebugHandle = 0;
/// The delegate names its events.
inline constexpr DelegateDebugIntId kUnsetDelegateDebugIntId = -1;
/// No bundled input is used.
inline constexpr int kUnsetBundledInputIndex = -1;

/// How a delegate names an event.
enum class DelegateDebugIdType {
  /// It is no event of a delegate.
  kNone,
  /// By a number.
  kInt,
  /// By a string.
  kStr,
};

/// Which value is logged.
enum class LoggedEValueType {
  /// An output of an instruction.
  kIntermediateOutput,
  /// An output of the method.
  kProgramOutput,
};

/// Which values a tracer wants.
enum class EventTracerDebugLogLevel {
  /// None.
  kNoLogging,
  /// The method's outputs.
  kProgramOutputs,
  /// Every instruction's outputs.
  kIntermediateOutputs,
};

/// Which events a tracer wants.
enum class EventTracerProfilingLevel {
  /// Those of whole methods.
  kProfileMethodOnly,
  /// All.
  kProfileAllEvents,
};

/// Chooses the intermediate outputs of delegates that are logged.
class EventTracerFilterBase {
 public:
  virtual ~EventTracerFilterBase() = default;

  /// Whether the output of this event is wanted. `name` is null if the event has a number.
  virtual Result<bool> filter(const char* name, DelegateDebugIntId delegate_debug_index) = 0;
};

/// An event that has begun.
struct EventTracerEntry {
  /// The tracer's number of it.
  int64_t event_id;
  ChainID chain_id;
  DebugHandle debug_handle;
  /// In ticks.
  et_timestamp_t start_time;
  /// How its delegate named it.
  DelegateDebugIdType delegate_event_id_type;
};

/// Receives events while a method is loaded and runs, on the thread that does it. Derive from it to record them.
class EventTracer {
 public:
  virtual ~EventTracer() = default;

  /// Starts a block of events, such as `"Execute"`.
  virtual void create_event_block(const char* name) = 0;

  /// Starts an event. `name` is valid during the call.
  virtual EventTracerEntry start_profiling(
      const char* name,
      ChainID chain_id = kUnsetChainId,
      DebugHandle debug_handle = kUnsetDebugHandle) = 0;

  /// Starts an event of a delegate, which has a name or a number.
  virtual EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index) = 0;

  /// Ends an event of a delegate, with bytes of its own.
  virtual void end_profiling_delegate(
      EventTracerEntry event_tracer_entry,
      const void* metadata = nullptr,
      size_t metadata_len = 0) = 0;

  /// Records a whole event of a delegate, whose clock gave both times.
  virtual void log_profiling_delegate(
      const char* name,
      DelegateDebugIntId delegate_debug_index,
      et_timestamp_t start_time,
      et_timestamp_t end_time,
      const void* metadata = nullptr,
      size_t metadata_len = 0) = 0;

  /// Ends an event.
  virtual void end_profiling(EventTracerEntry prof_entry) = 0;

  /// Records an allocation.
  virtual void track_allocation(AllocatorID id, size_t size) = 0;

  /// Announces an allocator.
  virtual AllocatorID track_allocator(const char* name) = 0;

  /// Records a value; the bytes must be copied before it returns.
  virtual Result<bool> log_evalue(const EValue& evalue, LoggedEValueType evalue_type) = 0;

  /// Records an intermediate output of a delegate.
  virtual Result<bool> log_intermediate_output_delegate(
      const char* name,
      DelegateDebugIntId delegate_debug_index,
      const executorch::aten::Tensor& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(
      const char* name,
      DelegateDebugIntId delegate_debug_index,
      const ArrayRef<executorch::aten::Tensor> output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(
      const char* name,
      DelegateDebugIntId delegate_debug_index,
      const int& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(
      const char* name,
      DelegateDebugIntId delegate_debug_index,
      const bool& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(
      const char* name,
      DelegateDebugIntId delegate_debug_index,
      const double& output) = 0;

  /// Chooses the intermediate outputs of delegates; null takes all.
  virtual void set_delegation_intermediate_output_filter(EventTracerFilterBase* event_tracer_filter) = 0;

  /// Tells the tracer which instruction runs.
  void set_chain_debug_handle(ChainID chain_id, DebugHandle debug_handle) {
    chain_id_ = chain_id;
    debug_handle_ = debug_handle;
  }

  void set_bundled_input_index(int bundled_input_index) {
    bundled_input_index_ = bundled_input_index;
  }

  int bundled_input_index() {
    return bundled_input_index_;
  }

  /// Which values the runtime logs; read when a method is loaded.
  void set_event_tracer_debug_level(EventTracerDebugLogLevel log_level) {
    event_tracer_debug_level_ = log_level;
  }

  EventTracerDebugLogLevel event_tracer_debug_level() {
    return event_tracer_debug_level_;
  }

  void set_event_tracer_profiling_level(EventTracerProfilingLevel profiling_level) {
    event_tracer_profiling_level_ = profiling_level;
  }

  EventTracerProfilingLevel event_tracer_profiling_level() {
    return event_tracer_profiling_level_;
  }

  bool intermediate_outputs_logging_status() {
    return log_intermediate_tensors_;
  }

  ChainID current_chain_id() {
    return chain_id_;
  }

  DebugHandle current_debug_handle() {
    return debug_handle_;
  }

 protected:
  ChainID chain_id_ = kUnsetChainId;
  DebugHandle debug_handle_ = kUnsetDebugHandle;
  bool event_tracer_enable_debugging_ = false;
  bool log_intermediate_tensors_ = false;
  int bundled_input_index_ = kUnsetBundledInputIndex;
  EventTracerDebugLogLevel event_tracer_debug_level_ = EventTracerDebugLogLevel::kNoLogging;
  EventTracerProfilingLevel event_tracer_profiling_level_ = EventTracerProfilingLevel::kProfileAllEvents;
};

namespace internal {

/// A tracer as the C interface takes it. It borrows the tracer and must keep its address while a method uses it.
class TracerBridge {
 public:
  explicit TracerBridge(EventTracer* tracer) : tracer_(tracer) {
    table_.struct_size = sizeof table_;
    switch (tracer->event_tracer_debug_level()) {
      case EventTracerDebugLogLevel::kNoLogging:
        break;
      case EventTracerDebugLogLevel::kProgramOutputs:
        table_.flags = ET_TRACER_LOG_OUTPUTS;
        break;
      case EventTracerDebugLogLevel::kIntermediateOutputs:
        table_.flags = ET_TRACER_LOG_OUTPUTS | ET_TRACER_LOG_INTERMEDIATE;
        break;
    }
    table_.user_data = this;
    table_.begin_block = [](void* self, const char* name) { owner(self).create_event_block(name); };
    table_.begin_event = [](void* self, const char* name, const et_event_place_t* place) {
      return static_cast<TracerBridge*>(self)->begin(name, place);
    };
    table_.end_event = [](void* self, uint64_t token, const void* metadata, size_t size) {
      static_cast<TracerBridge*>(self)->end(token, metadata, size);
    };
    table_.log_event = [](void* self, const char* name, const et_event_place_t* place, uint64_t start, uint64_t end,
                          const void* metadata, size_t size) {
      const bool named = place != nullptr && place->delegate_name != nullptr;
      owner(self).log_profiling_delegate(
          named ? place->delegate_name : name, place == nullptr ? kUnsetDelegateDebugIntId : place->delegate_id, start,
          end, metadata, size);
    };
    table_.log_value = [](void* self, const et_event_place_t* place, const et_value_t* value, bool is_output) {
      EventTracer& to = owner(self);
      set_place(to, place);
      const Result<bool> logged = to.log_evalue(
          *reinterpret_cast<const EValue*>(value),
          is_output ? LoggedEValueType::kProgramOutput : LoggedEValueType::kIntermediateOutput);
      return to_c(logged.error());
    };
    table_.track_allocator = [](void* self, const char* name) { return owner(self).track_allocator(name); };
    table_.track_allocation = [](void* self, uint32_t allocator, size_t size) {
      owner(self).track_allocation(allocator, size);
    };
  }

  TracerBridge(const TracerBridge&) = delete;
  TracerBridge& operator=(const TracerBridge&) = delete;

  const et_event_tracer_t* c_tracer() const {
    return &table_;
  }

  EventTracer* tracer() const {
    return tracer_;
  }

 private:
  static EventTracer& owner(void* self) {
    return *static_cast<TracerBridge*>(self)->tracer_;
  }

  static void set_place(EventTracer& to, const et_event_place_t* place) {
    if (place != nullptr && place->instruction >= 0) {
      to.set_chain_debug_handle(place->chain, static_cast<DebugHandle>(place->instruction));
    } else {
      to.set_chain_debug_handle(kUnsetChainId, kUnsetDebugHandle);
    }
  }

  static bool is_delegates(const et_event_place_t* place) {
    return place != nullptr && (place->delegate_name != nullptr || place->delegate_id >= 0);
  }

  /// Starts an event and returns its place among the open ones, counted from 1.
  uint64_t begin(const char* name, const et_event_place_t* place) {
    set_place(*tracer_, place);
    Open open{};
    open.delegates = is_delegates(place);
    open.entry = open.delegates
        ? tracer_->start_profiling_delegate(
              place->delegate_name, place->delegate_name != nullptr ? kUnsetDelegateDebugIntId : place->delegate_id)
        : tracer_->start_profiling(name, tracer_->current_chain_id(), tracer_->current_debug_handle());
    open.running = true;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (!open_[i].running) {
        open_[i] = open;
        return i + 1;
      }
    }
    open_.push_back(open);
    return open_.size();
  }

  void end(uint64_t token, const void* metadata, size_t size) {
    if (token == 0 || token > open_.size() || !open_[token - 1].running) {
      return;
    }
    Open& open = open_[token - 1];
    open.running = false;
    if (open.delegates) {
      tracer_->end_profiling_delegate(open.entry, metadata, size);
    } else {
      tracer_->end_profiling(open.entry);
    }
  }

  struct Open {
    EventTracerEntry entry;
    bool delegates;
    bool running;
  };

  EventTracer* tracer_;
  et_event_tracer_t table_{};
  std::vector<Open> open_;
};

} // namespace internal
} // namespace ET_RUNTIME_NAMESPACE
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::AllocatorID;
using ::executorch::runtime::ChainID;
using ::executorch::runtime::DebugHandle;
using ::executorch::runtime::DelegateDebugIdType;
using ::executorch::runtime::DelegateDebugIntId;
using ::executorch::runtime::EventTracer;
using ::executorch::runtime::EventTracerDebugLogLevel;
using ::executorch::runtime::EventTracerEntry;
using ::executorch::runtime::EventTracerFilterBase;
using ::executorch::runtime::EventTracerProfilingLevel;
using ::executorch::runtime::kUnsetBundledInputIndex;
using ::executorch::runtime::kUnsetChainId;
using ::executorch::runtime::kUnsetDebugHandle;
using ::executorch::runtime::kUnsetDelegateDebugIntId;
using ::executorch::runtime::LoggedEValueType;
} // namespace executor
} // namespace torch
