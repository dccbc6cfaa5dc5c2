//! Tensors' elements as Rust values: typed slices, dispatch over dtypes, and conversion a block at a time.

use crate::op::bad;
use crate::pool;
use bytemuck::Pod;
use executorch_abi::{Dtype, Error, Result, TensorMut, TensorRef};
use executorch_simd::{Bool8, Element, convert};
use half::{bf16, f16};

/// An element type of tensors of numbers or bools.
pub trait Item: Element + Pod {
    /// The dtype that it stands for.
    const DTYPE: Dtype;
}

macro_rules! items {
    ($($type:ty: $dtype:ident,)*) => {
        $(impl Item for $type { const DTYPE: Dtype = Dtype::$dtype; })*

        /// A tensor's elements, of whichever dtype, to be read as values of one type.
        #[derive(Debug, Clone, Copy)]
        pub enum Source<'a> {
            $(
                #[doc = concat!("Elements of ", stringify!($dtype), ".")]
                $dtype(&'a [$type]),
            )*
        }

        impl<'a> Source<'a> {
            /// The elements of a tensor of numbers or bools, in memory order.
            pub fn of(tensor: TensorRef<'a>) -> Result<Self> {
                Ok(match tensor.dtype()? {
                    $(Dtype::$dtype => Self::$dtype(items(tensor)?),)*
                    other => return Err(not_a_number(other)),
                })
            }

            /// Converts the elements from `at` on to `to`.
            pub fn load<C: Element>(&self, at: usize, to: &mut [C]) {
                match self {
                    $(Self::$dtype(data) => convert(&data[at..at + to.len()], to),)*
                }
            }

            /// Converts every `step`th element from `at` on to `to`.
            pub fn gather<C: Element>(&self, at: usize, step: usize, to: &mut [C]) {
                match self {
                    $(Self::$dtype(data) => {
                        for (to, from) in to.iter_mut().zip(data[at..].iter().step_by(step)) {
                            *to = from.cast();
                        }
                    })*
                }
            }

            /// Converts one element.
            pub fn get<C: Element>(&self, at: usize) -> C {
                match self {
                    $(Self::$dtype(data) => data[at].cast(),)*
                }
            }
        }

        /// Converts values to elements of a dtype, given as bytes (of [`writable`], so that they are aligned).
        ///
        /// # Panics
        /// If `dtype` is none of numbers or bools, or `to` is not as long as `from`.
        pub fn store<C: Element>(from: &[C], dtype: Dtype, to: &mut [u8]) {
            match dtype {
                $(Dtype::$dtype => convert(from, bytemuck::cast_slice_mut::<u8, $type>(to)),)*
                other => panic!("{other} is checked before"),
            }
        }
    };
}

items! {
    Bool8: Bool,
    u8: UInt8,
    i8: Int8,
    i16: Int16,
    i32: Int32,
    i64: Int64,
    f16: Float16,
    bf16: BFloat16,
    f32: Float32,
    f64: Float64,
}

/// Evaluates an expression in which a type stands for a dtype's element type; a dtype that is not in the set gives
/// an error. Sets: `any` (numbers and bools), `number`, `float`, `integer`.
///
/// `with_item!(dtype, number T => run::<T>(args))`, where the expression is a [`Result`].
#[macro_export]
macro_rules! with_item {
    ($dtype:expr, any $t:ident => $body:expr) => {
        $crate::with_item!(@ $dtype, $t, $body, "numbers or bools",
            Bool $crate::elements::Bool, UInt8 u8, Int8 i8, Int16 i16, Int32 i32, Int64 i64,
            Float16 $crate::elements::Half, BFloat16 $crate::elements::Brain, Float32 f32, Float64 f64)
    };
    ($dtype:expr, number $t:ident => $body:expr) => {
        $crate::with_item!(@ $dtype, $t, $body, "numbers",
            UInt8 u8, Int8 i8, Int16 i16, Int32 i32, Int64 i64,
            Float16 $crate::elements::Half, BFloat16 $crate::elements::Brain, Float32 f32, Float64 f64)
    };
    ($dtype:expr, float $t:ident => $body:expr) => {
        $crate::with_item!(@ $dtype, $t, $body, "floating-point numbers",
            Float16 $crate::elements::Half, BFloat16 $crate::elements::Brain, Float32 f32, Float64 f64)
    };
    ($dtype:expr, integer $t:ident => $body:expr) => {
        $crate::with_item!(@ $dtype, $t, $body, "integers",
            UInt8 u8, Int8 i8, Int16 i16, Int32 i32, Int64 i64)
    };
    (@ $dtype:expr, $t:ident, $body:expr, $expected:literal, $($name:ident $type:ty),*) => {
        match $dtype {
            $(::executorch_abi::Dtype::$name => {
                type $t = $type;
                $body
            })*
            other => Err($crate::op::bad(format!(concat!("expected a tensor of ", $expected, ", found {}"), other))),
        }
    };
}

/// A bool, for [`with_item`].
pub type Bool = Bool8;
/// A half float, for [`with_item`].
pub type Half = f16;
/// A brain float, for [`with_item`].
pub type Brain = bf16;

/// The error about a tensor that is neither of numbers nor of bools.
pub fn not_a_number(dtype: Dtype) -> Error {
    bad(format!("expected a tensor of numbers or bools, found {dtype}"))
}

fn wrong_dtype(expected: Dtype, found: Dtype) -> Error {
    bad(format!("expected a tensor of {expected}, found {found}"))
}

fn misaligned(size: usize) -> Error {
    bad(format!("the tensor's data is not aligned to {size} bytes"))
}

/// The elements of a tensor, in memory order.
pub fn items<'a, T: Item>(tensor: TensorRef<'a>) -> Result<&'a [T]> {
    let dtype = tensor.dtype()?;
    if dtype != T::DTYPE {
        return Err(wrong_dtype(T::DTYPE, dtype));
    }
    plain(tensor)
}

/// The elements of a tensor as plain data of the dtype's size, in memory order: for what only moves elements.
pub fn plain<'a, T: Pod>(tensor: TensorRef<'a>) -> Result<&'a [T]> {
    let bytes = tensor.bytes()?;
    // An empty slice has no address that would be aligned.
    if bytes.is_empty() {
        return Ok(&[]);
    }
    bytemuck::try_cast_slice(bytes).map_err(|_| misaligned(size_of::<T>()))
}

/// The elements of a tensor for writing, in memory order.
pub fn items_mut<'a, T: Item>(tensor: &mut TensorMut<'a>) -> Result<&'a mut [T]> {
    let dtype = tensor.view().dtype()?;
    if dtype != T::DTYPE {
        return Err(wrong_dtype(T::DTYPE, dtype));
    }
    plain_mut(tensor)
}

/// [`plain`], for writing.
pub fn plain_mut<'a, T: Pod>(tensor: &mut TensorMut<'a>) -> Result<&'a mut [T]> {
    let bytes = tensor.bytes()?;
    if bytes.is_empty() {
        return Ok(&mut []);
    }
    bytemuck::try_cast_slice_mut(bytes).map_err(|_| misaligned(size_of::<T>()))
}

/// The bytes of a tensor of numbers or bools, aligned for its elements, for [`store`]; and its dtype.
pub fn writable<'a>(tensor: &mut TensorMut<'a>) -> Result<(&'a mut [u8], Dtype)> {
    let dtype = tensor.view().dtype()?;
    let bytes = crate::with_item!(dtype, any T => plain_mut::<T>(tensor).map(bytemuck::cast_slice_mut))?;
    Ok((bytes, dtype))
}

/// Elements below which converting them is no work for another thread.
const CONVERT_GRAIN: usize = 32 * 1024;

/// A tensor's elements, in memory order, as values of a type.
///
/// # Panics
/// If `to` is not as long as the tensor.
pub fn widen<C: Element>(tensor: TensorRef<'_>, to: &mut [C]) -> Result<()> {
    let source = Source::of(tensor)?;
    pool::split_mut(to, 1, CONVERT_GRAIN, |at, part| source.load(at, part));
    Ok(())
}

/// Stores values as a tensor's elements, in memory order.
///
/// # Panics
/// If `from` is not as long as the tensor.
pub fn narrow<C: Element>(from: &[C], tensor: &mut TensorMut<'_>) -> Result<()> {
    crate::with_item!(tensor.view().dtype()?, any T => {
        let to = items_mut::<T>(tensor)?;
        pool::split_mut(to, 1, CONVERT_GRAIN, |at, part| convert(&from[at..at + part.len()], part));
        Ok(())
    })
}
