/**
 * Programs: loading a `.pte` file and asking what is in it.
 *
 * A program is immutable and may be used from several threads. Its methods keep it alive.
 *
 * Generated from runtime/abi/src/program.rs by cargo xtask headers.
 */

#ifndef EXECUTORCH_C_PROGRAM_H
#define EXECUTORCH_C_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "executorch/c/backend.h"
#include "executorch/c/data_map.h"
#include "executorch/c/error.h"
#include "executorch/c/loader.h"
#include "executorch/c/tensor.h"
#include "executorch/c/value.h"

typedef struct et_method_options_t et_method_options_t;
typedef struct et_method_t et_method_t;

/**
 * How many bytes `et_program_check_header` wants.
 */
#define ET_HEADER_MIN_BYTES 64

/**
 * What a program says of one of its methods. Owned by the program and valid as long as it.
 */
typedef struct et_method_meta_t et_method_meta_t;

/**
 * A loaded program.
 */
typedef struct et_program_t et_program_t;

/**
 * What a file holds besides its methods.
 *
 * The caller sets `struct_size`; no more than that is written.
 */
typedef struct et_program_info_t {
  /**
   * `sizeof(et_program_info_t)` as the caller knows it.
   */
  uint32_t struct_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Bytes of the program's structure: everything but segments.
   */
  uint64_t structure_bytes;
  /**
   * The number of constants.
   */
  size_t constant_count;
  /**
   * Bytes of all constants.
   */
  uint64_t constant_bytes;
  /**
   * The number of initial values of mutable tensors.
   */
  size_t mutable_count;
  /**
   * Bytes of all initial values.
   */
  uint64_t mutable_bytes;
  /**
   * The number of segments.
   */
  size_t segment_count;
  /**
   * Bytes of all segments.
   */
  uint64_t segment_bytes;
} et_program_info_t;

/**
 * What a file's first bytes say: one of the `ET_HEADER_…` constants.
 */
typedef uint32_t et_header_status_t;

/**
 * What the program says of a tensor. Pointers are valid as long as the program.
 */
typedef struct et_tensor_info_t {
  /**
   * `rank` sizes; upper bounds if the shape is dynamic.
   */
  const int32_t *sizes;
  /**
   * `rank` dimension numbers, outermost first.
   */
  const uint8_t *dim_order;
  /**
   * The tensor's qualified name; null if it has none.
   */
  const char *name;
  /**
   * Bytes of the whole tensor.
   */
  uint64_t nbytes;
  /**
   * The number of dimensions.
   */
  uint32_t rank;
  /**
   * The element type.
   */
  et_dtype_t dtype;
  /**
   * How the shape may change.
   */
  et_dynamism_t dynamism;
  /**
   * The device of its planned memory.
   */
  et_device_type_t device_type;
  /**
   * Which device of that type.
   */
  int8_t device_index;
  /**
   * Whether its memory is the method's (an input is then copied on set).
   */
  bool is_memory_planned;
  /**
   * Zero.
   */
  uint8_t reserved[7];
} et_tensor_info_t;

/**
 * A planned buffer of a method.
 */
typedef struct et_buffer_info_t {
  /**
   * Its bytes.
   */
  uint64_t size;
  /**
   * Where it must live.
   */
  et_device_type_t device_type;
  /**
   * Which device of that type.
   */
  int8_t device_index;
  /**
   * Zero.
   */
  uint8_t reserved[6];
} et_buffer_info_t;

/**
 * A delegate of a method: a payload and the backend that runs it.
 */
typedef struct et_delegate_info_t {
  /**
   * The backend's id.
   */
  const char *backend;
  /**
   * Bytes of its payload.
   */
  uint64_t payload_size;
  /**
   * The number of its compile specs.
   */
  size_t compile_spec_count;
} et_delegate_info_t;

/**
 * What an instruction is: one of the `ET_INSTRUCTION_…` constants.
 */
typedef uint32_t et_instruction_kind_t;

/**
 * One instruction of a method.
 */
typedef struct et_instruction_info_t {
  /**
   * The operator's or backend's name; null for the other kinds.
   */
  const char *name;
  /**
   * Its arguments' indices in the method's values.
   */
  const uint32_t *args;
  /**
   * Their number.
   */
  size_t arg_count;
  /**
   * What it is.
   */
  et_instruction_kind_t kind;
  /**
   * The chain that it belongs to.
   */
  uint32_t chain;
  /**
   * A jump's destination within its chain, or a delegate's index; 0 otherwise.
   */
  uint32_t target;
  /**
   * Zero.
   */
  uint32_t reserved;
} et_instruction_info_t;

/**
 * A program that this runtime reads.
 */
#define ET_HEADER_COMPATIBLE 0

/**
 * A program of another format version.
 */
#define ET_HEADER_INCOMPATIBLE 1

/**
 * No program.
 */
#define ET_HEADER_NOT_PRESENT 2

/**
 * Fewer than `ET_HEADER_MIN_BYTES` were given.
 */
#define ET_HEADER_SHORT_DATA 3

/**
 * A kernel call; `name` is the operator.
 */
#define ET_INSTRUCTION_KERNEL 0

/**
 * A delegate call; `name` is the backend.
 */
#define ET_INSTRUCTION_DELEGATE 1

/**
 * A move of a value.
 */
#define ET_INSTRUCTION_MOVE 2

/**
 * A conditional jump; `target` is the destination.
 */
#define ET_INSTRUCTION_JUMP_FALSE 3

/**
 * The release of a value's memory.
 */
#define ET_INSTRUCTION_FREE 4

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Loads a program through a loader and verifies all of it.
 *
 * Takes ownership of the loader, also on failure. Fails with `ET_ERROR_INVALID_PROGRAM` and a message that
 * says what is wrong and where. Release with `et_program_release`.
 */
extern et_error_t et_program_load(const et_data_loader_t *loader,
                                  struct et_program_t **out);

/**
 * Takes another reference to a program.
 */
extern void et_program_retain(struct et_program_t *program);

/**
 * Gives a reference back; the last one frees the program, once its methods are released. Null is ignored.
 */
extern void et_program_release(struct et_program_t *program);

/**
 * The number of methods.
 */
extern size_t et_program_method_count(const struct et_program_t *program);

/**
 * The metadata of method number `index`; null past the end.
 */
extern const struct et_method_meta_t *et_program_method_at(const struct et_program_t *program,
                                                           size_t index);

/**
 * Finds the metadata of a method; `ET_ERROR_INVALID_ARGUMENT` lists the methods if there is none of this
 * name.
 */
extern et_error_t et_program_method_find(const struct et_program_t *program,
                                         const char *name,
                                         const struct et_method_meta_t **out);

/**
 * The program's named data; valid as long as the program.
 */
extern const et_data_map_t *et_program_data_map(const struct et_program_t *program);

/**
 * The bytes of constant number `index`, at least `nbytes` of them; valid as long as the program.
 */
extern et_error_t et_program_constant(const struct et_program_t *program,
                                      size_t index,
                                      size_t nbytes,
                                      const void **out);

/**
 * What the file holds besides its methods; `out->struct_size` must be set.
 */
extern et_error_t et_program_describe(const struct et_program_t *program,
                                      struct et_program_info_t *out);

/**
 * Where segment `index` lies in the file and how many bytes it has; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_program_segment(const struct et_program_t *program,
                                     size_t index,
                                     uint64_t *offset,
                                     uint64_t *size);

/**
 * What the first bytes of a file say.
 */
extern et_header_status_t et_program_check_header(const void *data, size_t size);

/**
 * Loads a method: allocates its memory, initialises its delegates, resolves and prepares its kernels.
 *
 * `options` may be null. What it points to must outlive the method. Release with `et_method_release`.
 */
extern et_error_t et_program_load_method(struct et_program_t *program,
                                         const char *name,
                                         const et_method_options_t *options,
                                         et_method_t **out);

/**
 * What is in the payload of delegate `index` of a method, as its backend says: the JSON of
 * `et_backend_t::describe`, given to `sink` in pieces. Nothing is loaded, so the backend need not be able to run
 * here; what it says of executors holds for `options` (null for none), which are read as those of a load.
 *
 * Fails with `ET_ERROR_INVALID_ARGUMENT` if there is no such method or delegate, with `ET_ERROR_NOT_FOUND` if the
 * backend is not registered, with `ET_ERROR_NOT_IMPLEMENTED` if it describes nothing, and with the backend's
 * own error if it cannot read the payload. What the sink was given before a failure is to be dropped.
 */
extern et_error_t et_program_describe_delegate(const struct et_program_t *program,
                                               const char *method,
                                               size_t index,
                                               const et_method_options_t *options,
                                               et_text_sink_t sink,
                                               void *sink_context);

/**
 * The method's name.
 */
extern const char *et_method_meta_name(const struct et_method_meta_t *meta);

/**
 * The number of inputs.
 */
extern size_t et_method_meta_input_count(const struct et_method_meta_t *meta);

/**
 * The number of outputs.
 */
extern size_t et_method_meta_output_count(const struct et_method_meta_t *meta);

/**
 * The number of attributes: named tensors with mutable memory.
 */
extern size_t et_method_meta_attribute_count(const struct et_method_meta_t *meta);

/**
 * What input `index` holds; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_input_tag(const struct et_method_meta_t *meta,
                                           size_t index,
                                           et_tag_t *out);

/**
 * What output `index` holds; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_output_tag(const struct et_method_meta_t *meta,
                                            size_t index,
                                            et_tag_t *out);

/**
 * The tensor of input `index`; `ET_ERROR_INVALID_ARGUMENT` past the end or if it is no tensor.
 */
extern et_error_t et_method_meta_input_tensor(const struct et_method_meta_t *meta,
                                              size_t index,
                                              struct et_tensor_info_t *out);

/**
 * The tensor of output `index`; `ET_ERROR_INVALID_ARGUMENT` past the end or if it is no tensor.
 */
extern et_error_t et_method_meta_output_tensor(const struct et_method_meta_t *meta,
                                               size_t index,
                                               struct et_tensor_info_t *out);

/**
 * The tensor of attribute `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_attribute_tensor(const struct et_method_meta_t *meta,
                                                  size_t index,
                                                  struct et_tensor_info_t *out);

/**
 * Which value input `index` is; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_input_value(const struct et_method_meta_t *meta,
                                             size_t index,
                                             size_t *out);

/**
 * Which value output `index` is; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_output_value(const struct et_method_meta_t *meta,
                                              size_t index,
                                              size_t *out);

/**
 * The number of values.
 */
extern size_t et_method_meta_value_count(const struct et_method_meta_t *meta);

/**
 * What value `index` holds at load; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_value_tag(const struct et_method_meta_t *meta,
                                           size_t index,
                                           et_tag_t *out);

/**
 * The tensor of value `index`; `ET_ERROR_INVALID_ARGUMENT` past the end or if it is no tensor.
 */
extern et_error_t et_method_meta_value_tensor(const struct et_method_meta_t *meta,
                                              size_t index,
                                              struct et_tensor_info_t *out);

/**
 * The number of planned buffers.
 */
extern size_t et_method_meta_buffer_count(const struct et_method_meta_t *meta);

/**
 * Planned buffer `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_buffer(const struct et_method_meta_t *meta,
                                        size_t index,
                                        struct et_buffer_info_t *out);

/**
 * The number of delegates.
 */
extern size_t et_method_meta_delegate_count(const struct et_method_meta_t *meta);

/**
 * Delegate `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_delegate(const struct et_method_meta_t *meta,
                                          size_t index,
                                          struct et_delegate_info_t *out);

/**
 * The number of distinct operators.
 */
extern size_t et_method_meta_operator_count(const struct et_method_meta_t *meta);

/**
 * The name of operator `index`; null past the end.
 */
extern const char *et_method_meta_operator(const struct et_method_meta_t *meta, size_t index);

/**
 * The number of instructions of all chains.
 */
extern size_t et_method_meta_instruction_count(const struct et_method_meta_t *meta);

/**
 * Instruction `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
 */
extern et_error_t et_method_meta_instruction(const struct et_method_meta_t *meta,
                                             size_t index,
                                             struct et_instruction_info_t *out);

/**
 * The names of external data that the method needs (from `.ptd` files).
 */
extern size_t et_method_meta_external_count(const struct et_method_meta_t *meta);

/**
 * The key of external data `index`; null past the end.
 */
extern const char *et_method_meta_external_key(const struct et_method_meta_t *meta, size_t index);

/**
 * PyTorch's description (JSON) of how the outputs are nested; empty if the file has none.
 */
extern const char *et_method_meta_output_encoding(const struct et_method_meta_t *meta);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXECUTORCH_C_PROGRAM_H */
