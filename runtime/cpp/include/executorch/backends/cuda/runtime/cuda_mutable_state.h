/// \file
/// Several states of one loaded CUDA program: sessions with mutable buffers (key-value caches) of their own. Link
/// executorch::backend_cuda.
///
/// Make an owner and register the buffers' names; load the methods within `with_load_scope`; create sessions; run the methods
/// within `with_active_session`.

#pragma once

#include <executorch/c/cuda_state.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace executorch {
namespace backends {
namespace cuda {

/// A context's number; 0 is none.
using MutableStateContext = int;
constexpr MutableStateContext kInvalidMutableContext = 0;
/// No session.
constexpr int kNoMutableSession = ET_CUDA_STATE_NO_SESSION;

namespace detail {

inline MutableStateContext mutable_state_create_context() {
  return et_cuda_state_create();
}

inline void mutable_state_destroy_context(MutableStateContext context) {
  et_cuda_state_destroy(context);
}

/// A failure is kept in the context, and told by mutable_state_validate_coverage.
inline void mutable_state_begin_load(MutableStateContext context) {
  (void)et_cuda_state_begin_load(context);
}

inline void mutable_state_end_load() {
  et_cuda_state_end_load();
}

/// A failure is kept in the context, and told by mutable_state_validate_coverage.
inline void mutable_state_register_fqns(MutableStateContext context, const std::vector<std::string>& fqns) {
  std::vector<const char*> names;
  names.reserve(fqns.size());
  for (const std::string& fqn : fqns) {
    names.push_back(fqn.c_str());
  }
  (void)et_cuda_state_register(context, names.data(), names.size());
}

inline bool mutable_state_available(MutableStateContext context) {
  return et_cuda_state_is_available(context);
}

inline std::int64_t mutable_state_bytes_per_session(MutableStateContext context) {
  return static_cast<std::int64_t>(et_cuda_state_bytes_per_session(context));
}

inline ::executorch::runtime::Error mutable_state_validate_coverage(MutableStateContext context) {
  return static_cast<::executorch::runtime::Error>(et_cuda_state_validate(context));
}

inline ::executorch::runtime::Result<int> mutable_state_create_session(MutableStateContext context) {
  std::int32_t session = kNoMutableSession;
  const auto error = static_cast<::executorch::runtime::Error>(et_cuda_state_create_session(context, &session));
  if (error != ::executorch::runtime::Error::Ok) {
    return error;
  }
  return static_cast<int>(session);
}

inline void mutable_state_destroy_session(MutableStateContext context, int session) {
  et_cuda_state_destroy_session(context, session);
}

inline void mutable_state_set_active(MutableStateContext context, int session) {
  et_cuda_state_set_active(context, session);
}

} // namespace detail

/// Owns a context: destroyed with it, with all its sessions. Any thread may use it; its scopes belong to the thread that they
/// were begun on.
class MutableStateContextOwner final {
 public:
  MutableStateContextOwner() : context_(detail::mutable_state_create_context()) {}

  ~MutableStateContextOwner() {
    reset();
  }

  MutableStateContextOwner(const MutableStateContextOwner&) = delete;
  MutableStateContextOwner& operator=(const MutableStateContextOwner&) = delete;

  MutableStateContextOwner(MutableStateContextOwner&& other) noexcept
      : context_(std::exchange(other.context_, kInvalidMutableContext)) {}

  MutableStateContextOwner& operator=(MutableStateContextOwner&& other) noexcept {
    if (this != &other) {
      reset();
      context_ = std::exchange(other.context_, kInvalidMutableContext);
    }
    return *this;
  }

  /// The context's number.
  MutableStateContext get() const noexcept {
    return context_;
  }

  explicit operator bool() const noexcept {
    return context_ != kInvalidMutableContext;
  }

  /// Whether methods were loaded in a scope of this context, and allow sessions.
  bool available() const {
    return detail::mutable_state_available(context_);
  }

  /// Bytes of device memory that a session takes.
  std::int64_t bytes_per_session() const {
    return detail::mutable_state_bytes_per_session(context_);
  }

  /// Adds names of mutable buffers; before methods are loaded.
  void register_fqns(const std::vector<std::string>& fqns) {
    detail::mutable_state_register_fqns(context_, fqns);
  }

  /// Ok if every registered buffer was found in a loaded method.
  ::executorch::runtime::Error validate_coverage() const {
    return detail::mutable_state_validate_coverage(context_);
  }

  /// Creates a session.
  ::executorch::runtime::Result<int> create_session() {
    return detail::mutable_state_create_session(context_);
  }

  /// Destroys a session, in which no call may run.
  void destroy_session(int session) {
    detail::mutable_state_destroy_session(context_, session);
  }

  /// Calls `body`; methods that it loads belong to this context.
  template <typename Body>
  decltype(auto) with_load_scope(Body&& body) {
    struct Scope {
      explicit Scope(MutableStateContext context) {
        detail::mutable_state_begin_load(context);
      }
      ~Scope() {
        detail::mutable_state_end_load();
      }
    } scope(context_);
    return std::forward<Body>(body)();
  }

  /// Calls `body`; methods that it runs run in the session.
  template <typename Body>
  decltype(auto) with_active_session(int session, Body&& body) {
    struct Scope {
      Scope(MutableStateContext of, int active) : context(of) {
        detail::mutable_state_set_active(of, active);
      }
      ~Scope() {
        detail::mutable_state_set_active(context, kNoMutableSession);
      }
      MutableStateContext context;
    } scope(context_, session);
    return std::forward<Body>(body)();
  }

 private:
  void reset() {
    if (context_ != kInvalidMutableContext) {
      detail::mutable_state_destroy_context(std::exchange(context_, kInvalidMutableContext));
    }
  }

  MutableStateContext context_;
};

} // namespace cuda
} // namespace backends
} // namespace executorch
