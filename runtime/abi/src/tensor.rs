//! Tensors: dtype, shape and a pointer to data that somebody else owns.

use crate::error::et_error_t;
use std::ffi::{c_char, c_void};

/// An element type: one of the `ET_DTYPE_…` constants (the numbers of PyTorch's `ScalarType`).
pub type et_dtype_t = i8;

/// Unsigned 8-bit integer.
pub const ET_DTYPE_UINT8: et_dtype_t = 0;
/// Signed 8-bit integer.
pub const ET_DTYPE_INT8: et_dtype_t = 1;
/// Signed 16-bit integer.
pub const ET_DTYPE_INT16: et_dtype_t = 2;
/// Signed 32-bit integer.
pub const ET_DTYPE_INT32: et_dtype_t = 3;
/// Signed 64-bit integer.
pub const ET_DTYPE_INT64: et_dtype_t = 4;
/// IEEE binary16.
pub const ET_DTYPE_FLOAT16: et_dtype_t = 5;
/// IEEE binary32.
pub const ET_DTYPE_FLOAT32: et_dtype_t = 6;
/// IEEE binary64.
pub const ET_DTYPE_FLOAT64: et_dtype_t = 7;
/// Complex of two binary16.
pub const ET_DTYPE_COMPLEX32: et_dtype_t = 8;
/// Complex of two binary32.
pub const ET_DTYPE_COMPLEX64: et_dtype_t = 9;
/// Complex of two binary64.
pub const ET_DTYPE_COMPLEX128: et_dtype_t = 10;
/// Boolean, one byte, 0 or 1.
pub const ET_DTYPE_BOOL: et_dtype_t = 11;
/// Quantized signed 8-bit integer.
pub const ET_DTYPE_QINT8: et_dtype_t = 12;
/// Quantized unsigned 8-bit integer.
pub const ET_DTYPE_QUINT8: et_dtype_t = 13;
/// Quantized signed 32-bit integer.
pub const ET_DTYPE_QINT32: et_dtype_t = 14;
/// bfloat16.
pub const ET_DTYPE_BFLOAT16: et_dtype_t = 15;
/// Two unsigned 4-bit integers a byte.
pub const ET_DTYPE_QUINT4X2: et_dtype_t = 16;
/// Four unsigned 2-bit integers a byte.
pub const ET_DTYPE_QUINT2X4: et_dtype_t = 17;
/// 8 bits, four and two elements packed or one a byte (18..21 are the bits1x8…bits8 types).
pub const ET_DTYPE_BITS1X8: et_dtype_t = 18;
/// See `ET_DTYPE_BITS1X8`.
pub const ET_DTYPE_BITS2X4: et_dtype_t = 19;
/// See `ET_DTYPE_BITS1X8`.
pub const ET_DTYPE_BITS4X2: et_dtype_t = 20;
/// See `ET_DTYPE_BITS1X8`.
pub const ET_DTYPE_BITS8: et_dtype_t = 21;
/// 16 opaque bits.
pub const ET_DTYPE_BITS16: et_dtype_t = 22;
/// 8-bit float, 5 exponent bits.
pub const ET_DTYPE_FLOAT8_E5M2: et_dtype_t = 23;
/// 8-bit float, 4 exponent bits, finite.
pub const ET_DTYPE_FLOAT8_E4M3FN: et_dtype_t = 24;
/// 8-bit float, 5 exponent bits, no negative zero.
pub const ET_DTYPE_FLOAT8_E5M2FNUZ: et_dtype_t = 25;
/// 8-bit float, 4 exponent bits, no negative zero.
pub const ET_DTYPE_FLOAT8_E4M3FNUZ: et_dtype_t = 26;
/// Unsigned 16-bit integer.
pub const ET_DTYPE_UINT16: et_dtype_t = 27;
/// Unsigned 32-bit integer.
pub const ET_DTYPE_UINT32: et_dtype_t = 28;
/// Unsigned 64-bit integer.
pub const ET_DTYPE_UINT64: et_dtype_t = 29;

/// How a tensor's shape may change: one of the `ET_DYNAMISM_…` constants.
pub type et_dynamism_t = u8;
/// The shape never changes.
pub const ET_DYNAMISM_STATIC: et_dynamism_t = 0;
/// The shape may change as long as it fits `capacity_bytes`.
pub const ET_DYNAMISM_BOUND: et_dynamism_t = 1;
/// The shape may change without limit (the runtime loads no such tensor).
pub const ET_DYNAMISM_UNBOUND: et_dynamism_t = 2;

/// Where data lives: one of the `ET_DEVICE_…` constants.
pub type et_device_type_t = u8;
/// Host memory.
pub const ET_DEVICE_CPU: et_device_type_t = 0;
/// CUDA device memory.
pub const ET_DEVICE_CUDA: et_device_type_t = 1;

/// Flag of [`et_tensor_t::flags`]: the data is constant for the life of the method and must not be written.
pub const ET_TENSOR_CONSTANT: u8 = 1;
/// Flag of [`et_tensor_t::flags`]: the data lies in the method's planned memory.
pub const ET_TENSOR_PLANNED: u8 = 2;

/// The most dimensions that a tensor may have.
pub const ET_MAX_RANK: usize = 16;

/// A dense tensor. It owns nothing: `data`, `sizes`, `strides` and `dim_order` belong to whoever made it and
/// must outlive it.
///
/// The elements are dense in `dim_order` (outermost dimension first), so the data spans exactly
/// `numel * element size` bytes. Callers that make a tensor set every field, `struct_size` included; to
/// change the shape, call `et_tensor_resize`. Not synchronised: one thread at a time.
#[repr(C)]
#[derive(Debug)]
pub struct et_tensor_t {
    /// The first element, or null while no memory is bound.
    pub data: *mut c_void,
    /// `rank` sizes, each at least 0.
    pub sizes: *mut i32,
    /// `rank` strides in elements, consistent with `sizes` and `dim_order`.
    pub strides: *mut i32,
    /// `rank` dimension numbers, outermost first; a permutation of 0…rank-1.
    pub dim_order: *mut u8,
    /// The product of the sizes.
    pub numel: u64,
    /// Bytes that may be used at `data`: the bound of a resize.
    pub capacity_bytes: u64,
    /// `sizeof(et_tensor_t)` as the maker knew it.
    pub struct_size: u16,
    /// The number of dimensions, at most `ET_MAX_RANK`.
    pub rank: u8,
    /// The element type.
    pub dtype: et_dtype_t,
    /// How the shape may change.
    pub dynamism: et_dynamism_t,
    /// Where `data` points to.
    pub device_type: et_device_type_t,
    /// Which device of that type; 0 for the CPU.
    pub device_index: i8,
    /// `ET_TENSOR_…` flags.
    pub flags: u8,
    /// For the maker's use; the runtime never reads it.
    pub user_data: *mut c_void,
}

unsafe extern "C" {
    /// Gives a tensor new sizes and recomputes `strides` and `numel`.
    ///
    /// `rank` must be the tensor's own. Fails with `ET_ERROR_NOT_SUPPORTED` if the tensor is static and a size
    /// differs, or if the new shape needs more than `capacity_bytes`; `ET_ERROR_INVALID_ARGUMENT` for a
    /// negative size, another rank or an overflow. The tensor is unmodified on failure.
    pub fn et_tensor_resize(tensor: *mut et_tensor_t, sizes: *const i32, rank: usize) -> et_error_t;

    /// Writes the dense strides (in elements) of `sizes` in `dim_order` to `strides`, `rank` each.
    ///
    /// `dim_order` may be null for the contiguous order. Fails with `ET_ERROR_INVALID_ARGUMENT` if `dim_order`
    /// is no permutation, a size is negative or a stride does not fit 32 bits.
    pub fn et_tensor_dense_strides(
        sizes: *const i32,
        dim_order: *const u8,
        rank: usize,
        strides: *mut i32,
    ) -> et_error_t;

    /// Bytes of one element; 0 for a number that is no element type.
    pub fn et_dtype_size(dtype: et_dtype_t) -> usize;

    /// The name of an element type, such as `"float32"`; `"unknown"` for a number that is none.
    /// The string is static.
    pub fn et_dtype_name(dtype: et_dtype_t) -> *const c_char;
}
