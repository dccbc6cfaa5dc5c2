/// \file
/// Lists of types.

#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace executorch {
namespace extension {
namespace kernel_util_internal {

/// False for any type: for `static_assert` in a branch that must not be taken.
template <typename T>
struct false_t : std::false_type {};

/// A list of types.
template <typename... Items>
struct typelist final {
  typelist() = delete;
};

/// The number of types in a list.
template <typename TypeList>
struct size;
template <typename... Types>
struct size<typelist<Types...>> {
  static constexpr size_t value = sizeof...(Types);
};

/// Type number `Index` of a list.
template <size_t Index, typename TypeList>
struct element;
template <size_t Index, typename... Types>
struct element<Index, typelist<Types...>> {
  using type = std::tuple_element_t<Index, std::tuple<Types...>>;
};
template <size_t Index, typename TypeList>
using element_t = typename element<Index, TypeList>::type;

/// The first type of a list; `Default` if it is empty.
template <typename Default, typename TypeList>
struct head_with_default {
  using type = Default;
};
template <typename Default, typename Head, typename... Tail>
struct head_with_default<Default, typelist<Head, Tail...>> {
  using type = Head;
};
template <typename Default, typename TypeList>
using head_with_default_t = typename head_with_default<Default, TypeList>::type;

/// A list without its first type; an empty list stays as it is.
template <typename TypeList>
struct drop_first {
  using type = TypeList;
};
template <typename Head, typename... Tail>
struct drop_first<typelist<Head, Tail...>> {
  using type = typelist<Tail...>;
};

} // namespace kernel_util_internal
} // namespace extension
} // namespace executorch
