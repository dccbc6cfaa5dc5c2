/// \file
/// Error codes, their messages, and the macros that hand errors on. The C side is executorch/c/error.h.

#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <executorch/c/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {

/// The type of an error's number.
using error_code_t = uint32_t;

/// What went wrong. `last_error_message` tells the details.
enum class Error : error_code_t {
  /// Success.
  Ok = ET_OK,
  /// A fault inside the runtime.
  Internal = ET_ERROR_INTERNAL,
  /// The object is not in a state that allows the call.
  InvalidState = ET_ERROR_INVALID_STATE,
  /// `Method::step` was called after the last instruction.
  EndOfMethod = ET_ERROR_END_OF_METHOD,
  /// The resource is loaded already.
  AlreadyLoaded = ET_ERROR_ALREADY_LOADED,
  /// The operation is not supported for this input.
  NotSupported = ET_ERROR_NOT_SUPPORTED,
  /// The operation is not implemented by this object.
  NotImplemented = ET_ERROR_NOT_IMPLEMENTED,
  /// An argument is out of its domain.
  InvalidArgument = ET_ERROR_INVALID_ARGUMENT,
  /// A value has another type than the one asked for.
  InvalidType = ET_ERROR_INVALID_TYPE,
  /// The program calls operators that no loaded library registers.
  OperatorMissing = ET_ERROR_OPERATOR_MISSING,
  /// The kernel table is full.
  RegistrationExceedingMaxKernels = ET_ERROR_REGISTRATION_EXCEEDING_MAX_KERNELS,
  /// Another library registered something different under this name.
  RegistrationAlreadyRegistered = ET_ERROR_REGISTRATION_ALREADY_REGISTERED,
  /// A file, method, key, backend or device was not found.
  NotFound = ET_ERROR_NOT_FOUND,
  /// Memory could not be allocated, or a buffer of the caller is too small.
  MemoryAllocationFailed = ET_ERROR_MEMORY_ALLOCATION_FAILED,
  /// Reading data failed.
  AccessFailed = ET_ERROR_ACCESS_FAILED,
  /// The program file is malformed.
  InvalidProgram = ET_ERROR_INVALID_PROGRAM,
  /// An external data file is malformed or does not match the program.
  InvalidExternalData = ET_ERROR_INVALID_EXTERNAL_DATA,
  /// A resource other than memory is used up.
  OutOfResources = ET_ERROR_OUT_OF_RESOURCES,
  /// The delegate cannot read this payload.
  DelegateInvalidCompatibility = ET_ERROR_DELEGATE_INVALID_COMPATIBILITY,
  /// The delegate could not allocate memory.
  DelegateMemoryAllocationFailed = ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED,
  /// The delegate handle is not valid.
  DelegateInvalidHandle = ET_ERROR_DELEGATE_INVALID_HANDLE,
};

/// The name of an error, such as `"InvalidArgument"`. The string is static.
inline const char* to_string(const Error error) {
  return et_error_name(static_cast<et_error_t>(error));
}

/// The message of the last failure on this thread: what was expected, what was found, where, and what to do.
/// Never null; valid until the next call into the runtime on this thread.
inline const char* last_error_message() {
  return et_last_error_message();
}

namespace internal {

/// The code of the C interface as an `Error`.
inline Error from_c(et_error_t code) {
  return static_cast<Error>(code);
}

/// `error` as a code of the C interface.
inline et_error_t to_c(Error error) {
  return static_cast<et_error_t>(error);
}

/// Sets this thread's last error message, with `cause` (may be empty) behind it, and returns `error`.
inline Error vfail(Error error, const char* cause, const char* format, va_list args) {
  char message[kMaxLogMessageLength];
  const int written = std::vsnprintf(message, sizeof message, format, args);
  const size_t length = written < 0 ? 0 : static_cast<size_t>(written);
  if (cause[0] != '\0' && length < sizeof message) {
    constexpr char kColon[] = ": ";
    std::strncat(message, kColon, sizeof message - 1 - length);
    std::strncat(message, cause, sizeof message - 1 - std::strlen(message));
  }
  et_set_last_error(to_c(error), message);
  et_log(ET_LOG_ERROR, message);
  return error;
}

/// Sets this thread's last error message and returns `error`.
ET_PRINTFLIKE(2, 3)
inline Error fail(Error error, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vfail(error, "", format, args);
  va_end(args);
  return error;
}

/// `error` itself.
inline Error with_context(Error error) {
  return error;
}

/// Puts a message in front of the last error message, if that one belongs to `error`.
inline Error vwith_context(Error error, const char* format, va_list args) {
  char cause[kMaxLogMessageLength] = "";
  if (et_last_error_code() == to_c(error)) {
    std::snprintf(cause, sizeof cause, "%s", et_last_error_message());
  }
  return vfail(error, cause, format, args);
}

/// `error` itself; if it is a failure, the message is put in front of the last error message.
ET_PRINTFLIKE(2, 3)
inline Error with_context(Error error, const char* format, ...) {
  if (error != Error::Ok) {
    va_list args;
    va_start(args, format);
    vwith_context(error, format, args);
    va_end(args);
  }
  return error;
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Error;
using ::executorch::runtime::error_code_t;
} // namespace executor
} // namespace torch

/// `ET_CHECK_OR_RETURN_ERROR(condition, InvalidArgument, format, …)`: returns the error from the enclosing function,
/// which returns `Error` or a `Result`, with a message, if the condition does not hold.
#define ET_CHECK_OR_RETURN_ERROR(cond__, error__, ...)                                               \
  do {                                                                                               \
    if (ET_UNLIKELY(!(cond__))) {                                                                    \
      return ::executorch::runtime::internal::fail(::executorch::runtime::Error::error__, __VA_ARGS__); \
    }                                                                                                \
  } while (0)

/// `ET_CHECK_OR_RETURN_FALSE(condition, format, …)`: logs and returns false if the condition does not hold.
#define ET_CHECK_OR_RETURN_FALSE(cond__, ...)                 \
  do {                                                        \
    if (ET_UNLIKELY(!(cond__))) {                             \
      ET_LOG(Error, "check failed (%s)", #cond__);            \
      ET_LOG(Error, __VA_ARGS__);                             \
      return false;                                           \
    }                                                         \
  } while (0)

/// `ET_CHECK_OK_OR_RETURN_ERROR(error[, format, …])`: returns the error from the enclosing function, with the message
/// in front of what the failing call said, if it is not `Error::Ok`.
#define ET_CHECK_OK_OR_RETURN_ERROR(...)                                                       \
  do {                                                                                         \
    const ::executorch::runtime::Error et_error__ =                                            \
        ::executorch::runtime::internal::with_context(__VA_ARGS__);                            \
    if (ET_UNLIKELY(et_error__ != ::executorch::runtime::Error::Ok)) {                         \
      return et_error__;                                                                       \
    }                                                                                          \
  } while (0)
