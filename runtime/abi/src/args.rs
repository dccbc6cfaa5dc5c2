//! The arguments of a kernel or delegate call, read with their types checked.

use crate::error::*;
use crate::rust::{Error, Result};
use crate::value::*;
use crate::view::{TensorMut, TensorRef};
use std::slice;

/// The arguments of one call.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    values: &'a [*mut et_value_t],
}

/// The name of a value's tag, for messages.
pub fn tag_name(tag: et_tag_t) -> &'static str {
    match tag {
        ET_TAG_NONE => "none",
        ET_TAG_TENSOR => "a tensor",
        ET_TAG_STRING => "a string",
        ET_TAG_DOUBLE => "a float",
        ET_TAG_INT => "an int",
        ET_TAG_BOOL => "a bool",
        ET_TAG_LIST_BOOL => "a list of bools",
        ET_TAG_LIST_DOUBLE => "a list of floats",
        ET_TAG_LIST_INT => "a list of ints",
        ET_TAG_LIST_TENSOR => "a list of tensors",
        ET_TAG_LIST_SCALAR => "a list of scalars",
        ET_TAG_LIST_OPTIONAL_TENSOR => "a list of optional tensors",
        _ => "an unknown tag",
    }
}

/// A number: PyTorch's `Scalar`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// A float.
    Double(f64),
    /// A boolean.
    Bool(bool),
}

impl Scalar {
    /// The number as a float.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(v) => v as f64,
            Self::Double(v) => v,
            Self::Bool(v) => f64::from(u8::from(v)),
        }
    }

    /// The number as an integer; a float is truncated and saturates.
    pub fn to_i64(self) -> i64 {
        match self {
            Self::Int(v) => v,
            Self::Double(v) => v as i64,
            Self::Bool(v) => i64::from(v),
        }
    }
}

impl<'a> Args<'a> {
    /// Wraps the arguments of a call.
    ///
    /// # Safety
    /// `args` holds `count` pointers to values that, with all that they point to, are valid during `'a` and obey
    /// the guarantee of [`crate::view`].
    #[inline]
    pub unsafe fn new(args: *const *mut et_value_t, count: usize) -> Self {
        if count == 0 {
            return Self { values: &[] };
        }
        // SAFETY: the caller's promise.
        Self { values: unsafe { slice::from_raw_parts(args, count) } }
    }

    /// The number of arguments, outputs and return slots included.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    #[inline]
    fn value(&self, index: usize) -> Result<et_value_t> {
        match self.values.get(index) {
            // SAFETY: the constructor's contract; the value is copied out, so no reference to it is kept.
            Some(&value) => Ok(unsafe { *value }),
            None => Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("argument {index} is missing: the call has {} arguments", self.values.len()),
            )),
        }
    }

    fn wrong<T>(index: usize, expected: &str, found: et_tag_t) -> Result<T> {
        Err(Error::new(
            ET_ERROR_INVALID_PROGRAM,
            format!("argument {index} should be {expected}, found {}", tag_name(found)),
        ))
    }

    /// Whether argument `index` is none.
    #[inline]
    pub fn is_none(&self, index: usize) -> Result<bool> {
        Ok(self.value(index)?.tag == ET_TAG_NONE)
    }

    /// Whether argument `index` is a tensor. Unlike a failed [`Args::tensor`], asking is free.
    #[inline]
    pub fn is_tensor(&self, index: usize) -> Result<bool> {
        Ok(self.value(index)?.tag == ET_TAG_TENSOR)
    }

    /// A tensor that is read.
    #[inline]
    pub fn tensor(&self, index: usize) -> Result<TensorRef<'a>> {
        let value = self.value(index)?;
        if value.tag != ET_TAG_TENSOR {
            return Self::wrong(index, "a tensor", value.tag);
        }
        // SAFETY: the tag says which member holds, and the constructor's contract makes the tensor valid.
        Ok(unsafe { TensorRef::new(&*value.payload.as_tensor) })
    }

    /// A tensor, or none.
    #[inline]
    pub fn optional_tensor(&self, index: usize) -> Result<Option<TensorRef<'a>>> {
        if self.is_none(index)? { Ok(None) } else { self.tensor(index).map(Some) }
    }

    /// A tensor that is written.
    ///
    /// # Safety
    /// No other view of the same tensor's data is in use while this one is.
    #[inline]
    pub unsafe fn out(&self, index: usize) -> Result<TensorMut<'a>> {
        let value = self.value(index)?;
        if value.tag != ET_TAG_TENSOR {
            return Self::wrong(index, "an output tensor", value.tag);
        }
        // SAFETY: as for `tensor`, and the caller promises that the view is the only one.
        Ok(unsafe { TensorMut::new(&mut *value.payload.as_tensor) })
    }

    /// A number.
    #[inline]
    pub fn scalar(&self, index: usize) -> Result<Scalar> {
        let value = self.value(index)?;
        let payload = &value.payload;
        match value.tag {
            // SAFETY: the tag says which member holds, here and below.
            ET_TAG_INT => Ok(Scalar::Int(unsafe { payload.as_int })),
            // SAFETY: as above.
            ET_TAG_DOUBLE => Ok(Scalar::Double(unsafe { payload.as_double })),
            // SAFETY: as above.
            ET_TAG_BOOL => Ok(Scalar::Bool(unsafe { payload.as_bool })),
            tag => Self::wrong(index, "a number", tag),
        }
    }

    /// A number, or none.
    #[inline]
    pub fn optional_scalar(&self, index: usize) -> Result<Option<Scalar>> {
        if self.is_none(index)? { Ok(None) } else { self.scalar(index).map(Some) }
    }

    /// An integer.
    #[inline]
    pub fn int(&self, index: usize) -> Result<i64> {
        match self.scalar(index)? {
            Scalar::Int(value) => Ok(value),
            _ => Self::wrong(index, "an int", self.value(index)?.tag),
        }
    }

    /// An integer, or none.
    pub fn optional_int(&self, index: usize) -> Result<Option<i64>> {
        if self.is_none(index)? { Ok(None) } else { self.int(index).map(Some) }
    }

    /// A float; an integer counts as one.
    #[inline]
    pub fn double(&self, index: usize) -> Result<f64> {
        match self.scalar(index)? {
            Scalar::Bool(_) => Self::wrong(index, "a float", ET_TAG_BOOL),
            number => Ok(number.to_f64()),
        }
    }

    /// A float, or none.
    pub fn optional_double(&self, index: usize) -> Result<Option<f64>> {
        if self.is_none(index)? { Ok(None) } else { self.double(index).map(Some) }
    }

    /// A boolean.
    #[inline]
    pub fn bool(&self, index: usize) -> Result<bool> {
        match self.scalar(index)? {
            Scalar::Bool(value) => Ok(value),
            _ => Self::wrong(index, "a bool", self.value(index)?.tag),
        }
    }

    /// A text.
    pub fn string(&self, index: usize) -> Result<&'a str> {
        let value = self.value(index)?;
        if value.tag != ET_TAG_STRING {
            return Self::wrong(index, "a string", value.tag);
        }
        // SAFETY: the tag says which member holds; the runtime's strings hold `length` bytes.
        let bytes =
            unsafe { list(value.payload.as_string.data.cast::<u8>(), value.payload.as_string.length) };
        std::str::from_utf8(bytes)
            .map_err(|_| Error::new(ET_ERROR_INVALID_PROGRAM, format!("argument {index} is not UTF-8 text")))
    }

    /// A text, or none.
    pub fn optional_string(&self, index: usize) -> Result<Option<&'a str>> {
        if self.is_none(index)? { Ok(None) } else { self.string(index).map(Some) }
    }

    /// A list of integers.
    #[inline]
    pub fn ints(&self, index: usize) -> Result<&'a [i64]> {
        let value = self.value(index)?;
        if value.tag != ET_TAG_LIST_INT {
            return Self::wrong(index, "a list of ints", value.tag);
        }
        // SAFETY: the tag says which member holds; the runtime's lists hold `length` items.
        Ok(unsafe { list(value.payload.as_int_list.data, value.payload.as_int_list.length) })
    }

    /// A list of integers, or none.
    pub fn optional_ints(&self, index: usize) -> Result<Option<&'a [i64]>> {
        if self.is_none(index)? { Ok(None) } else { self.ints(index).map(Some) }
    }

    /// A list of floats.
    pub fn doubles(&self, index: usize) -> Result<&'a [f64]> {
        let value = self.value(index)?;
        if value.tag != ET_TAG_LIST_DOUBLE {
            return Self::wrong(index, "a list of floats", value.tag);
        }
        // SAFETY: as for `ints`.
        Ok(unsafe { list(value.payload.as_double_list.data, value.payload.as_double_list.length) })
    }

    /// A list of booleans.
    pub fn bools(&self, index: usize) -> Result<&'a [bool]> {
        let value = self.value(index)?;
        if value.tag != ET_TAG_LIST_BOOL {
            return Self::wrong(index, "a list of bools", value.tag);
        }
        // SAFETY: as for `ints`.
        Ok(unsafe { list(value.payload.as_bool_list.data, value.payload.as_bool_list.length) })
    }

    /// The number of tensors in a list.
    pub fn tensor_count(&self, index: usize) -> Result<usize> {
        Ok(self.tensor_items(index)?.len())
    }

    /// Item `item` of a list of tensors; none if it is absent.
    pub fn tensor_item(&self, index: usize, item: usize) -> Result<Option<TensorRef<'a>>> {
        // SAFETY: a non-null item is a valid tensor by the constructor's contract.
        let tensor = unsafe { self.item(index, item)?.as_ref() };
        // SAFETY: as above.
        Ok(tensor.map(|t| unsafe { TensorRef::new(t) }))
    }

    /// Item `item` of a list of tensors that are written.
    ///
    /// # Safety
    /// As for [`Args::out`].
    pub unsafe fn out_item(&self, index: usize, item: usize) -> Result<TensorMut<'a>> {
        // SAFETY: as for `tensor_item`, and the caller promises that the view is the only one.
        match unsafe { self.item(index, item)?.as_mut() } {
            // SAFETY: as above.
            Some(tensor) => Ok(unsafe { TensorMut::new(tensor) }),
            None => Self::wrong(index, "a list of output tensors", ET_TAG_NONE),
        }
    }

    fn item(&self, index: usize, item: usize) -> Result<*mut crate::tensor::et_tensor_t> {
        let items = self.tensor_items(index)?;
        items.get(item).copied().ok_or_else(|| {
            Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("argument {index} should have at least {} tensors, found {}", item + 1, items.len()),
            )
        })
    }

    #[inline]
    fn tensor_items(&self, index: usize) -> Result<&'a [*mut crate::tensor::et_tensor_t]> {
        let value = self.value(index)?;
        if !matches!(value.tag, ET_TAG_LIST_TENSOR | ET_TAG_LIST_OPTIONAL_TENSOR) {
            return Self::wrong(index, "a list of tensors", value.tag);
        }
        // SAFETY: as for `ints`.
        Ok(unsafe { list(value.payload.as_tensor_list.data, value.payload.as_tensor_list.length) })
    }
}

/// # Safety
/// `data` holds `length` items that are valid during `'a`.
#[inline]
unsafe fn list<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(data, length) }
}
