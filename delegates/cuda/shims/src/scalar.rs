//! Single values of tensors.

use crate::boundary::invalid;
use crate::copy;
use crate::tensor::Tensor;
use executorch_abi::{Dtype, Result};

/// A type that a tensor's element is read as: exactly that of its dtype.
pub trait Scalar: Sized {
    /// The dtype.
    const DTYPE: Dtype;
    /// The value of an element's bytes, of which there are more than enough.
    fn from_bytes(bytes: [u8; 16]) -> Self;
}

macro_rules! scalars {
    ($($type:ty = $dtype:ident, $size:literal;)*) => {$(
        impl Scalar for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            fn from_bytes(bytes: [u8; 16]) -> Self {
                let mut own = [0; $size];
                own.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
                Self::from_ne_bytes(own)
            }
        }
    )*};
}
scalars! {
    u8 = UInt8, 1;
    i8 = Int8, 1;
    i16 = Int16, 2;
    i32 = Int32, 4;
    i64 = Int64, 8;
    u16 = UInt16, 2;
    u32 = UInt32, 4;
    u64 = UInt64, 8;
    f32 = Float32, 4;
    f64 = Float64, 8;
}

impl Scalar for bool {
    const DTYPE: Dtype = Dtype::Bool;
    fn from_bytes(bytes: [u8; 16]) -> Self {
        bytes.first() != Some(&0)
    }
}

/// The bits of a 16-bit float.
#[repr(transparent)]
pub struct Float16(u16);
impl Scalar for Float16 {
    const DTYPE: Dtype = Dtype::Float16;
    fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u16::from_bytes(bytes))
    }
}

/// The bits of a bfloat16.
#[repr(transparent)]
pub struct BFloat16(u16);
impl Scalar for BFloat16 {
    const DTYPE: Dtype = Dtype::BFloat16;
    fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u16::from_bytes(bytes))
    }
}

/// The tensor's only element. Waits for the device that it is on.
///
/// # Safety
/// The tensor's memory is valid.
pub unsafe fn item<T: Scalar>(tensor: &Tensor) -> Result<T> {
    if tensor.dtype() != T::DTYPE {
        return Err(invalid(format!("the tensor's dtype is {}, expected {}", tensor.dtype(), T::DTYPE)));
    }
    // SAFETY: promised by the caller.
    Ok(T::from_bytes(unsafe { copy::element(tensor) }?))
}
