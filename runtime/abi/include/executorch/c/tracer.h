/**
 * Event tracing: a table of callbacks that a method calls while it loads and runs.
 *
 * Generated from runtime/abi/src/tracer.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_TRACER_H
#define EXECUTORCH_C_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/error.h"
#include "executorch/c/value.h"

/**
 * Flag of [`et_event_tracer_t::flags`]: call `log_value` for every output of every instruction. A delegate does not
 * say which of its arguments it writes, so all are logged. Calls that were run at load are not seen.
 */
#define ET_TRACER_LOG_INTERMEDIATE 1

/**
 * Flag of [`et_event_tracer_t::flags`]: call `log_value` for every output of the method after a whole run.
 */
#define ET_TRACER_LOG_OUTPUTS 2

/**
 * Where in the program an event happens.
 */
typedef struct et_event_place_t {
  /**
   * The chain's index, -1 outside of one.
   */
  int32_t chain;
  /**
   * The instruction's index in its chain, -1 outside of one.
   */
  int64_t instruction;
  /**
   * A delegate's own integer id, -1 if it has none.
   */
  int32_t delegate_id;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * A delegate's own name for the event; null if it has none.
   */
  const char *delegate_name;
} et_event_place_t;

/**
 * Callbacks of a tracer. Null entries are skipped; a method without a tracer pays one branch an instruction.
 * Called by the thread that runs the method.
 */
typedef struct et_event_tracer_t {
  /**
   * `sizeof(et_event_tracer_t)`.
   */
  uint32_t struct_size;
  /**
   * `ET_TRACER_…` flags.
   */
  uint32_t flags;
  /**
   * Passed to every function.
   */
  void *user_data;
  /**
   * Starts a block of events: `"Default"` when a method is loaded, `"Execute"` for a run.
   */
  void (*begin_block)(void *user_data, const char *name);
  /**
   * Starts an event and returns a token for its end.
   */
  uint64_t (*begin_event)(void *user_data, const char *name, const struct et_event_place_t *place);
  /**
   * Ends the event of a token. `metadata` (a delegate's bytes) may be null.
   */
  void (*end_event)(void *user_data, uint64_t token, const void *metadata, size_t metadata_size);
  /**
   * Records a whole event of a delegate, whose clock gave both times.
   */
  void (*log_event)(void *user_data,
                    const char *name,
                    const struct et_event_place_t *place,
                    uint64_t start,
                    uint64_t end,
                    const void *metadata,
                    size_t metadata_size);
  /**
   * Records a value; the bytes must be copied before it returns.
   */
  et_error_t (*log_value)(void *user_data,
                          const struct et_event_place_t *place,
                          const et_value_t *value,
                          bool is_output);
  /**
   * Announces an allocator by name and returns its number.
   */
  uint32_t (*track_allocator)(void *user_data, const char *name);
  /**
   * Records an allocation of a tracked allocator.
   */
  void (*track_allocation)(void *user_data, uint32_t allocator, size_t size);
} et_event_tracer_t;

#endif  /* EXECUTORCH_C_TRACER_H */
