/// \file
/// Facts of element types, and conversions between them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <executorch/c/tensor.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

using ::executorch::aten::ScalarType;

/// The C++ type that an element type stands for, as `type`.
template <ScalarType N>
struct ScalarTypeToCppType;

/// The element type that a C++ type stands for, as `value`.
template <typename T>
struct CppTypeToScalarType;

#define ET_INTERNAL_MAP_TYPE(cpp_type, name)                                               \
  template <>                                                                              \
  struct ScalarTypeToCppType<ScalarType::name> {                                           \
    using type = cpp_type;                                                                 \
  };                                                                                       \
  template <>                                                                              \
  struct CppTypeToScalarType<cpp_type> : std::integral_constant<ScalarType, ScalarType::name> {};
ET_FORALL_SCALAR_TYPES(ET_INTERNAL_MAP_TYPE)
#undef ET_INTERNAL_MAP_TYPE

/// Whether a number is an element type.
inline bool isValid(ScalarType type) {
  return et_dtype_size(static_cast<et_dtype_t>(type)) != 0;
}

/// The name of an element type, such as `"Float"`; `"UNKNOWN_SCALAR"` for a number that is none. The string is static.
inline const char* toString(ScalarType t) {
  switch (t) {
#define ET_INTERNAL_NAME(cpp_type, name) \
  case ScalarType::name:                 \
    return #name;
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_NAME)
#undef ET_INTERNAL_NAME
    case ScalarType::Undefined:
      return "Undefined";
    case ScalarType::NumOptions:
      break;
  }
  return "UNKNOWN_SCALAR";
}

/// Bytes of one element. Ends the process for a number that is no element type.
inline size_t elementSize(ScalarType t) {
  const size_t size = et_dtype_size(static_cast<et_dtype_t>(t));
  ET_CHECK_MSG(size != 0, "%d is no element type", static_cast<int>(t));
  return size;
}

/// Whether it is Byte, Char, Short, Int or Long, or with `includeBool` Bool.
constexpr bool isIntegralType(ScalarType t, bool includeBool) {
  return (includeBool && t == ScalarType::Bool) || t == ScalarType::Byte || t == ScalarType::Char ||
      t == ScalarType::Int || t == ScalarType::Long || t == ScalarType::Short;
}

/// As `isIntegralType`, for a C++ type.
template <typename T, bool includeBool>
struct is_integral_type
    : std::bool_constant<isIntegralType(CppTypeToScalarType<T>::value, includeBool)> {};

/// Whether it is Half, BFloat16, Float or Double.
constexpr bool isFloatingType(ScalarType t) {
  return t == ScalarType::Double || t == ScalarType::Float || t == ScalarType::Half || t == ScalarType::BFloat16;
}

/// Whether it is one of the two 16-bit floating-point types.
constexpr bool isReducedFloatingType(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::BFloat16;
}

/// Whether it is an integer type other than Bool, Float or Double.
constexpr bool isRealType(ScalarType t) {
  return isIntegralType(t, false) || t == ScalarType::Float || t == ScalarType::Double;
}

/// `isRealType` or Half.
constexpr bool isRealHType(ScalarType t) {
  return isRealType(t) || t == ScalarType::Half;
}

/// `isRealHType` or Bool.
constexpr bool isRealHBType(ScalarType t) {
  return isRealHType(t) || t == ScalarType::Bool;
}

/// `isRealHType` or BFloat16.
constexpr bool isRealHBF16Type(ScalarType t) {
  return isRealHType(t) || t == ScalarType::BFloat16;
}

/// `isRealHBType` or BFloat16.
constexpr bool isRealHBBF16Type(ScalarType t) {
  return isRealHBType(t) || t == ScalarType::BFloat16;
}

constexpr bool isComplexType(ScalarType t) {
  return t == ScalarType::ComplexHalf || t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble;
}

constexpr bool isBitsType(ScalarType t) {
  return t == ScalarType::Bits1x8 || t == ScalarType::Bits2x4 || t == ScalarType::Bits4x2 || t == ScalarType::Bits8 ||
      t == ScalarType::Bits16;
}

constexpr bool isQIntType(ScalarType t) {
  return t == ScalarType::QInt8 || t == ScalarType::QUInt8 || t == ScalarType::QInt32 || t == ScalarType::QUInt4x2 ||
      t == ScalarType::QUInt2x4;
}

constexpr bool isFloat8Type(ScalarType t) {
  return t == ScalarType::Float8_e5m2 || t == ScalarType::Float8_e4m3fn || t == ScalarType::Float8_e5m2fnuz ||
      t == ScalarType::Float8_e4m3fnuz;
}

/// Whether it is UInt16, UInt32 or UInt64, which few operators take.
constexpr bool isBarebonesUnsignedType(ScalarType t) {
  return t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64;
}

template <typename T>
struct is_complex_type : std::bool_constant<isComplexType(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_bits_type : std::bool_constant<isBitsType(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_qint_type : std::bool_constant<isQIntType(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_float8_type : std::bool_constant<isFloat8Type(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_barebones_unsigned_type
    : std::bool_constant<isBarebonesUnsignedType(CppTypeToScalarType<T>::value)> {};
/// Whether a C++ type is a floating-point number, of 16 bits too.
template <typename T>
struct is_floating_point : std::bool_constant<
                               std::is_floating_point_v<T> || std::is_same_v<T, ::executorch::aten::Half> ||
                               std::is_same_v<T, ::executorch::aten::BFloat16>> {};
/// Whether a C++ type is a floating-point number of 16 bits.
template <typename T>
struct is_reduced_floating_point
    : std::bool_constant<
          std::is_same_v<T, ::executorch::aten::Half> || std::is_same_v<T, ::executorch::aten::BFloat16>> {};

/// The quantized type over an integer type, or `t` itself.
constexpr ScalarType toQIntType(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
      return ScalarType::QUInt8;
    case ScalarType::Char:
      return ScalarType::QInt8;
    case ScalarType::Int:
      return ScalarType::QInt32;
    default:
      return t;
  }
}

/// The integer type under a quantized type, or `t` itself.
constexpr ScalarType toUnderlying(ScalarType t) {
  switch (t) {
    case ScalarType::QUInt8:
    case ScalarType::QUInt4x2:
    case ScalarType::QUInt2x4:
      return ScalarType::Byte;
    case ScalarType::QInt8:
      return ScalarType::Char;
    case ScalarType::QInt32:
      return ScalarType::Int;
    default:
      return t;
  }
}

/// Whether `type` is the integer type under `qtype`.
constexpr bool isUnderlying(ScalarType type, ScalarType qtype) {
  return type == toUnderlying(qtype);
}

/// Whether numbers of this type may be negative. Not for quantized types, which have a zero point.
constexpr bool isSignedType(ScalarType t) {
  return isFloatingType(t) || isComplexType(t) || isFloat8Type(t) || t == ScalarType::Char || t == ScalarType::Short ||
      t == ScalarType::Int || t == ScalarType::Long;
}

/// The type of a complex type's parts, or `t` itself.
constexpr ScalarType toRealValueType(ScalarType t) {
  switch (t) {
    case ScalarType::ComplexHalf:
      return ScalarType::Half;
    case ScalarType::ComplexFloat:
      return ScalarType::Float;
    case ScalarType::ComplexDouble:
      return ScalarType::Double;
    default:
      return t;
  }
}

/// The complex type whose parts are of this type; Undefined if there is none.
constexpr ScalarType toComplexType(ScalarType t) {
  switch (t) {
    case ScalarType::Half:
    case ScalarType::ComplexHalf:
      return ScalarType::ComplexHalf;
    case ScalarType::BFloat16:
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      return ScalarType::ComplexFloat;
    case ScalarType::Double:
    case ScalarType::ComplexDouble:
      return ScalarType::ComplexDouble;
    default:
      return ScalarType::Undefined;
  }
}

/// Whether results of one type may be stored in another: the kind (boolean, integer, floating-point, complex) must not
/// get narrower.
constexpr bool canCast(const ScalarType from, const ScalarType to) {
  return !(isComplexType(from) && !isComplexType(to)) && !(isFloatingType(from) && isIntegralType(to, false)) &&
      !(from != ScalarType::Bool && to == ScalarType::Bool);
}

/// As `canCast`, for C++ types.
template <typename T1, typename T2>
struct can_cast : std::bool_constant<canCast(CppTypeToScalarType<T1>::value, CppTypeToScalarType<T2>::value)> {};

/// The type that PyTorch computes with for two operands. Half and BFloat16 give Float; with `half_to_float`, a Half
/// or BFloat16 result becomes Float. Undefined for types that do not mix.
constexpr ScalarType promoteTypes(ScalarType a, ScalarType b, bool half_to_float = false) {
  ScalarType result = ScalarType::Undefined;
  const bool numbers = (isRealHBBF16Type(a) || isComplexType(a)) && (isRealHBBF16Type(b) || isComplexType(b));
  if (a == b) {
    result = a;
  } else if (!numbers) {
    result = ScalarType::Undefined;
  } else if (isComplexType(a) || isComplexType(b)) {
    const ScalarType parts = promoteTypes(toRealValueType(a), toRealValueType(b));
    result = isFloatingType(parts) ? toComplexType(parts) : ScalarType::Undefined;
  } else if (isFloatingType(a) != isFloatingType(b)) {
    result = isFloatingType(a) ? a : b;
  } else if (isFloatingType(a)) {
    // Of two different ones, one is the wider; neither 16-bit type contains the other.
    result = a == ScalarType::Double || b == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
  } else if (a == ScalarType::Bool || b == ScalarType::Bool) {
    result = a == ScalarType::Bool ? b : a;
  } else if (a == ScalarType::Byte || b == ScalarType::Byte) {
    const ScalarType other = a == ScalarType::Byte ? b : a;
    result = other == ScalarType::Char ? ScalarType::Short : other;
  } else {
    // Char, Short, Int and Long are numbered by width.
    result = a > b ? a : b;
  }
  return half_to_float && isReducedFloatingType(result) ? ScalarType::Float : result;
}

/// As `promoteTypes`, for C++ types.
template <typename T1, typename T2, bool half_to_float = false>
struct promote_types {
  using type = typename ScalarTypeToCppType<
      promoteTypes(CppTypeToScalarType<T1>::value, CppTypeToScalarType<T2>::value, half_to_float)>::type;
};

/// A number as another type, as C++ converts it; 16-bit floating-point types go through float.
template <typename To, typename From>
To convert(From value) {
  if constexpr (is_reduced_floating_point<To>::value || is_reduced_floating_point<From>::value) {
    if constexpr (std::is_same_v<To, bool>) {
      return static_cast<float>(value) != 0.0f;
    } else {
      return static_cast<To>(static_cast<float>(value));
    }
  } else {
    return static_cast<To>(value);
  }
}

namespace internal {

/// Calls `body` with a value of the C++ type of a real number type or Bool; returns false for other element types.
template <typename Body>
bool visit_number_type(ScalarType type, Body&& body) {
  switch (type) {
#define ET_INTERNAL_VISIT(cpp_type, name) \
  case ScalarType::name:                  \
    body(cpp_type{});                     \
    return true;
    ET_INTERNAL_VISIT(uint8_t, Byte)
    ET_INTERNAL_VISIT(int8_t, Char)
    ET_INTERNAL_VISIT(int16_t, Short)
    ET_INTERNAL_VISIT(int32_t, Int)
    ET_INTERNAL_VISIT(int64_t, Long)
    ET_INTERNAL_VISIT(uint16_t, UInt16)
    ET_INTERNAL_VISIT(uint32_t, UInt32)
    ET_INTERNAL_VISIT(uint64_t, UInt64)
    ET_INTERNAL_VISIT(::executorch::aten::Half, Half)
    ET_INTERNAL_VISIT(::executorch::aten::BFloat16, BFloat16)
    ET_INTERNAL_VISIT(float, Float)
    ET_INTERNAL_VISIT(double, Double)
    ET_INTERNAL_VISIT(bool, Bool)
#undef ET_INTERNAL_VISIT
    default:
      return false;
  }
}

} // namespace internal
} // namespace runtime
} // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::canCast;
using ::executorch::runtime::convert;
using ::executorch::runtime::CppTypeToScalarType;
using ::executorch::runtime::elementSize;
using ::executorch::runtime::isBitsType;
using ::executorch::runtime::isComplexType;
using ::executorch::runtime::isFloatingType;
using ::executorch::runtime::isIntegralType;
using ::executorch::runtime::isQIntType;
using ::executorch::runtime::isRealHBBF16Type;
using ::executorch::runtime::isRealHBF16Type;
using ::executorch::runtime::isRealHBType;
using ::executorch::runtime::isRealHType;
using ::executorch::runtime::isRealType;
using ::executorch::runtime::isSignedType;
using ::executorch::runtime::isUnderlying;
using ::executorch::runtime::isValid;
using ::executorch::runtime::promoteTypes;
using ::executorch::runtime::ScalarTypeToCppType;
using ::executorch::runtime::toQIntType;
using ::executorch::runtime::toString;
using ::executorch::runtime::toUnderlying;
} // namespace executor
} // namespace torch
