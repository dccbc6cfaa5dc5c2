//! Values: what methods, kernels and delegates take and give.

use crate::tensor::et_tensor_t;
use std::ffi::c_char;

/// What a value holds: one of the `ET_TAG_…` constants (upstream's order).
pub type et_tag_t = u32;
/// Nothing.
pub const ET_TAG_NONE: et_tag_t = 0;
/// A tensor.
pub const ET_TAG_TENSOR: et_tag_t = 1;
/// A string.
pub const ET_TAG_STRING: et_tag_t = 2;
/// A 64-bit float.
pub const ET_TAG_DOUBLE: et_tag_t = 3;
/// A 64-bit integer.
pub const ET_TAG_INT: et_tag_t = 4;
/// A boolean.
pub const ET_TAG_BOOL: et_tag_t = 5;
/// A list of booleans.
pub const ET_TAG_LIST_BOOL: et_tag_t = 6;
/// A list of 64-bit floats.
pub const ET_TAG_LIST_DOUBLE: et_tag_t = 7;
/// A list of 64-bit integers.
pub const ET_TAG_LIST_INT: et_tag_t = 8;
/// A list of tensors.
pub const ET_TAG_LIST_TENSOR: et_tag_t = 9;
/// A list of scalars (no program that the runtime loads has one).
pub const ET_TAG_LIST_SCALAR: et_tag_t = 10;
/// A list of tensors, some of which may be absent.
pub const ET_TAG_LIST_OPTIONAL_TENSOR: et_tag_t = 11;

/// A string with its length; `data` is NUL-terminated too when the runtime made it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_string_t {
    /// UTF-8 bytes.
    pub data: *const c_char,
    /// Their number, without a NUL.
    pub length: usize,
}

/// A list of 64-bit integers.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_int_list_t {
    /// The items.
    pub data: *const i64,
    /// Their number.
    pub length: usize,
}

/// A list of 64-bit floats.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_double_list_t {
    /// The items.
    pub data: *const f64,
    /// Their number.
    pub length: usize,
}

/// A list of booleans.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_bool_list_t {
    /// The items, each 0 or 1.
    pub data: *const bool,
    /// Their number.
    pub length: usize,
}

/// A list of tensors. In a `ET_TAG_LIST_OPTIONAL_TENSOR`, a null item is an absent tensor.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_tensor_list_t {
    /// The items.
    pub data: *const *mut et_tensor_t,
    /// Their number.
    pub length: usize,
}

/// The payload of a value; the tag says which member holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub union et_payload_t {
    /// `ET_TAG_INT`
    pub as_int: i64,
    /// `ET_TAG_DOUBLE`
    pub as_double: f64,
    /// `ET_TAG_BOOL`
    pub as_bool: bool,
    /// `ET_TAG_TENSOR`
    pub as_tensor: *mut et_tensor_t,
    /// `ET_TAG_STRING`
    pub as_string: et_string_t,
    /// `ET_TAG_LIST_INT`
    pub as_int_list: et_int_list_t,
    /// `ET_TAG_LIST_DOUBLE`
    pub as_double_list: et_double_list_t,
    /// `ET_TAG_LIST_BOOL`
    pub as_bool_list: et_bool_list_t,
    /// `ET_TAG_LIST_TENSOR` and `ET_TAG_LIST_OPTIONAL_TENSOR`
    pub as_tensor_list: et_tensor_list_t,
}

/// A tagged value. It owns nothing that it points to. Copying it copies the pointer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct et_value_t {
    /// The payload that `tag` names.
    pub payload: et_payload_t,
    /// What the value holds.
    pub tag: et_tag_t,
    /// Zero.
    pub reserved: u32,
}

impl et_value_t {
    /// A value that holds nothing.
    pub const NONE: Self = Self {
        payload: et_payload_t { as_string: et_string_t { data: std::ptr::null(), length: 0 } },
        tag: ET_TAG_NONE,
        reserved: 0,
    };

    fn with(tag: et_tag_t, set: impl FnOnce(&mut et_payload_t)) -> Self {
        let mut value = Self { tag, ..Self::NONE };
        set(&mut value.payload);
        value
    }

    /// An integer value.
    pub fn int(value: i64) -> Self {
        Self::with(ET_TAG_INT, |p| p.as_int = value)
    }

    /// A float value.
    pub fn double(value: f64) -> Self {
        Self::with(ET_TAG_DOUBLE, |p| p.as_double = value)
    }

    /// A boolean value.
    pub fn bool(value: bool) -> Self {
        Self::with(ET_TAG_BOOL, |p| p.as_bool = value)
    }

    /// A tensor value that borrows `tensor`.
    pub fn tensor(tensor: *mut et_tensor_t) -> Self {
        Self::with(ET_TAG_TENSOR, |p| p.as_tensor = tensor)
    }
}
