//! What methods take and give.

use crate::tensor::{Tensor, TensorView};
use executorch_abi::error::ET_ERROR_NOT_SUPPORTED;
use executorch_abi::value::*;
use executorch_abi::{Error, Result};
use std::slice;

/// What a value of a method holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named after what it holds")]
pub enum Kind {
    None,
    Tensor,
    String,
    Double,
    Int,
    Bool,
    BoolList,
    DoubleList,
    IntList,
    TensorList,
    ScalarList,
    OptionalTensorList,
}

impl Kind {
    pub(crate) fn from_raw(tag: et_tag_t) -> Option<Self> {
        Some(match tag {
            ET_TAG_NONE => Self::None,
            ET_TAG_TENSOR => Self::Tensor,
            ET_TAG_STRING => Self::String,
            ET_TAG_DOUBLE => Self::Double,
            ET_TAG_INT => Self::Int,
            ET_TAG_BOOL => Self::Bool,
            ET_TAG_LIST_BOOL => Self::BoolList,
            ET_TAG_LIST_DOUBLE => Self::DoubleList,
            ET_TAG_LIST_INT => Self::IntList,
            ET_TAG_LIST_TENSOR => Self::TensorList,
            ET_TAG_LIST_SCALAR => Self::ScalarList,
            ET_TAG_LIST_OPTIONAL_TENSOR => Self::OptionalTensorList,
            _ => return None,
        })
    }

    /// The name for people, such as `"int"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tensor => "tensor",
            Self::String => "string",
            Self::Double => "float",
            Self::Int => "int",
            Self::Bool => "bool",
            Self::BoolList => "list of bools",
            Self::DoubleList => "list of floats",
            Self::IntList => "list of ints",
            Self::TensorList => "list of tensors",
            Self::ScalarList => "list of scalars",
            Self::OptionalTensorList => "list of optional tensors",
        }
    }
}

/// A value with tensors of type `T`: [`TensorView`] or [`Tensor`].
#[derive(Debug, Clone)]
pub enum Value<T> {
    /// Nothing.
    None,
    /// An integer.
    Int(i64),
    /// A float.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    String(String),
    /// A tensor.
    Tensor(T),
    /// Integers.
    Ints(Vec<i64>),
    /// Floats.
    Doubles(Vec<f64>),
    /// Booleans.
    Bools(Vec<bool>),
    /// Tensors, some of which may be absent.
    Tensors(Vec<Option<T>>),
}

impl<T> Value<T> {
    /// The same value with other tensors.
    pub fn try_map<U>(self, mut change: impl FnMut(T) -> Result<U>) -> Result<Value<U>> {
        Ok(match self {
            Self::None => Value::None,
            Self::Int(v) => Value::Int(v),
            Self::Double(v) => Value::Double(v),
            Self::Bool(v) => Value::Bool(v),
            Self::String(v) => Value::String(v),
            Self::Ints(v) => Value::Ints(v),
            Self::Doubles(v) => Value::Doubles(v),
            Self::Bools(v) => Value::Bools(v),
            Self::Tensor(t) => Value::Tensor(change(t)?),
            Self::Tensors(all) => Value::Tensors(
                all.into_iter().map(|t| t.map(&mut change).transpose()).collect::<Result<_>>()?,
            ),
        })
    }
}

impl Value<Tensor> {
    /// The same value with its tensors viewed.
    pub fn view(&self) -> Value<TensorView<'_>> {
        match self {
            Self::None => Value::None,
            Self::Int(v) => Value::Int(*v),
            Self::Double(v) => Value::Double(*v),
            Self::Bool(v) => Value::Bool(*v),
            Self::String(v) => Value::String(v.clone()),
            Self::Tensor(t) => Value::Tensor(t.view()),
            Self::Ints(v) => Value::Ints(v.clone()),
            Self::Doubles(v) => Value::Doubles(v.clone()),
            Self::Bools(v) => Value::Bools(v.clone()),
            Self::Tensors(v) => Value::Tensors(v.iter().map(|t| t.as_ref().map(Tensor::view)).collect()),
        }
    }
}

impl<'a> Value<TensorView<'a>> {
    /// Reads a value of a method; `what` names it in messages.
    ///
    /// # Safety
    /// `raw` is a value of a loaded method, and the method does not run and is not freed during `'a`.
    pub(crate) unsafe fn of_runtime(raw: &et_value_t, what: &str) -> Result<Self> {
        let payload = &raw.payload;
        // SAFETY: the tag says which member holds, and what it points to is valid by the caller's promise.
        unsafe {
            Ok(match raw.tag {
                ET_TAG_NONE => Self::None,
                ET_TAG_INT => Self::Int(payload.as_int),
                ET_TAG_DOUBLE => Self::Double(payload.as_double),
                ET_TAG_BOOL => Self::Bool(payload.as_bool),
                ET_TAG_STRING => {
                    let bytes = items(payload.as_string.data.cast::<u8>(), payload.as_string.length);
                    Self::String(String::from_utf8_lossy(bytes).into_owned())
                }
                ET_TAG_LIST_INT => {
                    Self::Ints(items(payload.as_int_list.data, payload.as_int_list.length).to_vec())
                }
                ET_TAG_LIST_DOUBLE => {
                    Self::Doubles(items(payload.as_double_list.data, payload.as_double_list.length).to_vec())
                }
                ET_TAG_LIST_BOOL => {
                    Self::Bools(items(payload.as_bool_list.data, payload.as_bool_list.length).to_vec())
                }
                ET_TAG_TENSOR => match payload.as_tensor.as_ref() {
                    Some(tensor) => Self::Tensor(TensorView::of_runtime(tensor, what)?),
                    None => Self::None,
                },
                ET_TAG_LIST_TENSOR | ET_TAG_LIST_OPTIONAL_TENSOR => {
                    let list = payload.as_tensor_list;
                    let view = |&tensor: &*mut _| {
                        let tensor: *mut executorch_abi::tensor::et_tensor_t = tensor;
                        tensor.as_ref().map(|t| TensorView::of_runtime(t, what)).transpose()
                    };
                    Self::Tensors(items(list.data, list.length).iter().map(view).collect::<Result<_>>()?)
                }
                other => {
                    return Err(Error::new(
                        ET_ERROR_NOT_SUPPORTED,
                        format!("{what} is {}, which cannot be read", executorch_abi::args::tag_name(other)),
                    ));
                }
            })
        }
    }
}

/// # Safety
/// `data` holds `length` items that are valid during `'a`, or `length` is 0.
unsafe fn items<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if length == 0 || data.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(data, length) }
}
