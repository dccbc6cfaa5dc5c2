/// \file
/// Options of several backends, given when a program or method is loaded.

#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include <executorch/c/backend.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Options by backend id. It views the options, which must outlive the load that they are given to.
class LoadBackendOptionsMap final {
 public:
  LoadBackendOptionsMap() = default;

  /// Sets a backend's options, in place of earlier ones. `Error::InvalidArgument` if the id is null, empty or too long,
  /// or if there are options of too many backends.
  Error set_options(const char* backend_id, Span<BackendOption> options) {
    ET_CHECK_OR_RETURN_ERROR(
        backend_id != nullptr && backend_id[0] != '\0', InvalidArgument, "%s", "a backend's id is empty");
    ET_CHECK_OR_RETURN_ERROR(
        std::strlen(backend_id) < kMaxBackendIdLength, InvalidArgument, "backend id %s has more than %zu characters",
        backend_id, kMaxBackendIdLength - 1);
    Entry* entry = const_cast<Entry*>(find(backend_id));
    if (entry == nullptr) {
      ET_CHECK_OR_RETURN_ERROR(
          size_ < kMaxBackends, InvalidArgument, "options of %s: there are options of %zu backends already",
          backend_id, size_);
      entry = &entries_[size_++];
      std::snprintf(entry->backend_id, sizeof entry->backend_id, "%s", backend_id);
    }
    entry->options = options;
    return Error::Ok;
  }

  /// As above, with an object that has `backend_id()` and `view()`.
  template <typename Builder>
  Error set_options(Builder& builder) {
    return set_options(builder.backend_id(), builder.view());
  }

  /// A backend's options; empty if there are none.
  Span<const BackendOption> get_options(const char* backend_id) const {
    const Entry* entry = backend_id == nullptr ? nullptr : find(backend_id);
    return entry == nullptr ? Span<const BackendOption>()
                            : Span<const BackendOption>(entry->options.data(), entry->options.size());
  }

  bool has_options(const char* backend_id) const {
    return backend_id != nullptr && find(backend_id) != nullptr;
  }

  /// The number of backends.
  size_t size() const {
    return size_;
  }

  /// A backend and its options.
  struct EntryView {
    const char* backend_id;
    Span<const BackendOption> options;
  };

  /// Entry `index`; null and empty past the end.
  EntryView entry_at(size_t index) const {
    if (index >= size_) {
      return {nullptr, {}};
    }
    return {entries_[index].backend_id, get_options(entries_[index].backend_id)};
  }

 private:
  static constexpr size_t kMaxBackends = 8;
  static constexpr size_t kMaxBackendIdLength = 64;

  struct Entry {
    char backend_id[kMaxBackendIdLength]{};
    Span<BackendOption> options;
  };

  const Entry* find(const char* backend_id) const {
    for (size_t i = 0; i < size_; ++i) {
      if (std::strcmp(entries_[i].backend_id, backend_id) == 0) {
        return &entries_[i];
      }
    }
    return nullptr;
  }

  Entry entries_[kMaxBackends];
  size_t size_ = 0;
};

namespace internal {

/// Options as the C interface takes them; the map must outlive it.
class OptionsBridge {
 public:
  explicit OptionsBridge(const LoadBackendOptionsMap* map) {
    const size_t count = map == nullptr ? 0 : map->size();
    options_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const LoadBackendOptionsMap::EntryView entry = map->entry_at(i);
      for (const BackendOption& option : entry.options) {
        options_[i].push_back(to_c(option));
      }
      backends_.push_back({entry.backend_id, options_[i].data(), options_[i].size()});
    }
  }

  const et_backend_options_t* data() const {
    return backends_.data();
  }

  size_t size() const {
    return backends_.size();
  }

 private:
  std::vector<std::vector<et_backend_option_t>> options_;
  std::vector<et_backend_options_t> backends_;
};

} // namespace internal
} // namespace runtime
} // namespace executorch
