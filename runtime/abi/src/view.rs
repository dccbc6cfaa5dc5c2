//! Checked views of the values that a kernel or delegate is handed.
//!
//! The runtime guarantees, for every value that it hands out, that a tensor's `sizes`, `strides` and
//! `dim_order` hold `rank` entries and that `data` (if not null) holds `numel` elements of `dtype`, dense in
//! `dim_order`. The constructors here are `unsafe` on that ground; everything behind them is safe.

use crate::error::*;
use crate::rust::{Dtype, Error, Result};
use crate::tensor::*;
use std::slice;

/// A Rust type that is the element type of some tensors.
///
/// # Safety
/// `Self` must have the size of every dtype in `DTYPES`, and every bit pattern that a tensor of them may hold
/// must be a valid `Self`.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The dtypes that are read and written as `Self`.
    const DTYPES: &'static [Dtype];
}

macro_rules! element {
    ($($type:ty => $($dtype:ident),+;)*) => {
        // SAFETY: plain old data of exactly these dtypes' size; every bit pattern is valid.
        $(unsafe impl Element for $type { const DTYPES: &'static [Dtype] = &[$(Dtype::$dtype),+]; })*
    };
}
element! {
    u8 => UInt8, Bool, QUInt8, QUInt4x2, QUInt2x4, Bits8;
    i8 => Int8, QInt8;
    i16 => Int16;
    i32 => Int32, QInt32;
    i64 => Int64;
    u16 => UInt16, Float16, BFloat16, Bits16;
    u32 => UInt32;
    u64 => UInt64;
    f32 => Float32;
    f64 => Float64;
}

/// A tensor that is read.
#[derive(Debug, Clone, Copy)]
pub struct TensorRef<'a> {
    raw: &'a et_tensor_t,
}

/// A tensor that is written.
#[derive(Debug)]
pub struct TensorMut<'a> {
    raw: &'a mut et_tensor_t,
}

#[inline]
fn dims<'a, T>(data: *const T, rank: u8) -> &'a [T] {
    if rank == 0 || data.is_null() {
        return &[];
    }
    // SAFETY: by the contract of the views' constructors, `data` holds `rank` entries that live as long as the view.
    unsafe { slice::from_raw_parts(data, usize::from(rank)) }
}

impl<'a> TensorRef<'a> {
    /// Views a tensor.
    ///
    /// # Safety
    /// The module's guarantee holds for `raw` during `'a`, and nobody writes to its data during `'a`.
    #[inline]
    pub unsafe fn new(raw: &'a et_tensor_t) -> Self {
        Self { raw }
    }

    /// The element type, if the number is one.
    #[inline]
    pub fn dtype(&self) -> Result<Dtype> {
        Dtype::from_raw(self.raw.dtype)
            .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{} is no dtype", self.raw.dtype)))
    }

    /// The sizes, outermost first.
    #[inline]
    pub fn sizes(&self) -> &'a [i32] {
        dims(self.raw.sizes, self.raw.rank)
    }

    /// The strides, in elements.
    #[inline]
    pub fn strides(&self) -> &'a [i32] {
        dims(self.raw.strides, self.raw.rank)
    }

    /// The dimension numbers, outermost in memory first.
    #[inline]
    pub fn dim_order(&self) -> &'a [u8] {
        dims(self.raw.dim_order, self.raw.rank)
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        usize::from(self.raw.rank)
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.raw.numel as usize
    }

    /// Whether the memory order is the order of the dimensions.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.dim_order().iter().enumerate().all(|(i, &d)| i == usize::from(d))
    }

    /// The address of the first element.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        self.raw.data.cast()
    }

    /// The raw tensor.
    #[inline]
    pub fn raw(&self) -> &'a et_tensor_t {
        self.raw
    }

    /// The data as bytes, in memory order.
    #[inline]
    pub fn bytes(&self) -> Result<&'a [u8]> {
        let size = self.numel() * self.dtype()?.size();
        if size == 0 {
            return Ok(&[]);
        }
        self.bound()?;
        // SAFETY: the module's guarantee: `data` holds `numel` elements that nobody writes to during `'a`.
        Ok(unsafe { slice::from_raw_parts(self.raw.data.cast(), size) })
    }

    /// The elements in memory order; fails if `T` does not stand for the tensor's dtype or no memory is bound.
    #[inline]
    pub fn data<T: Element>(&self) -> Result<&'a [T]> {
        expect_dtype::<T>(self.dtype()?)?;
        if self.numel() == 0 {
            return Ok(&[]);
        }
        self.bound()?;
        aligned::<T>(self.raw.data.cast())?;
        // SAFETY: as for `bytes`, and the pointer is aligned for `T`, whose size is the dtype's.
        Ok(unsafe { slice::from_raw_parts(self.raw.data.cast(), self.numel()) })
    }

    #[inline]
    fn bound(&self) -> Result<()> {
        if self.raw.data.is_null() {
            return Err(unbound());
        }
        if self.raw.device_type != ET_DEVICE_CPU {
            return Err(elsewhere());
        }
        Ok(())
    }
}

impl<'a> TensorMut<'a> {
    /// Views a tensor for writing.
    ///
    /// # Safety
    /// The module's guarantee holds for `raw` during `'a`, and nobody else reads or writes its data during `'a`.
    #[inline]
    pub unsafe fn new(raw: &'a mut et_tensor_t) -> Self {
        Self { raw }
    }

    /// The same tensor, to read its shape (and its data while it is not being written).
    #[inline]
    pub fn view(&self) -> TensorRef<'_> {
        TensorRef { raw: self.raw }
    }

    /// Gives the tensor new sizes; nothing happens if they are the ones that it has.
    #[inline]
    pub fn resize(&mut self, sizes: &[i32]) -> Result<()> {
        if self.view().sizes() == sizes {
            return Ok(());
        }
        // SAFETY: `raw` is valid by the constructor's contract; `sizes` holds as many entries as is said.
        Error::check(unsafe { et_tensor_resize(self.raw, sizes.as_ptr(), sizes.len()) })
    }

    /// Lets the tensor use `capacity` bytes at `data` from now on.
    ///
    /// # Safety
    /// The memory is there as long as the tensor may use it, and holds the elements of its shape.
    #[inline]
    pub unsafe fn bind(&mut self, data: *mut std::ffi::c_void, capacity: u64) {
        self.raw.data = data;
        self.raw.capacity_bytes = capacity;
    }

    /// The elements in memory order, for writing; fails as [`TensorRef::data`] does, and for a constant.
    #[inline]
    pub fn data<T: Element>(&mut self) -> Result<&'a mut [T]> {
        expect_dtype::<T>(self.view().dtype()?)?;
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Ok(&mut []);
        }
        aligned::<T>(bytes.as_ptr())?;
        // SAFETY: the bytes are this view's alone, aligned for `T`, and hold `numel` elements of its size.
        Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) })
    }

    /// The data as bytes, in memory order, for writing.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a mut [u8]> {
        let size = self.view().numel() * self.view().dtype()?.size();
        if size == 0 {
            return Ok(&mut []);
        }
        self.view().bound()?;
        if self.raw.flags & ET_TENSOR_CONSTANT != 0 {
            return Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                "the output is a constant and must not be written",
            ));
        }
        // SAFETY: the module's guarantee: `data` holds `size` bytes that are this view's alone during `'a`.
        Ok(unsafe { slice::from_raw_parts_mut(self.raw.data.cast(), size) })
    }
}

fn unbound() -> Error {
    Error::new(
        ET_ERROR_INVALID_STATE,
        "the tensor has no memory yet: set the input or output that it belongs to",
    )
}

fn elsewhere() -> Error {
    Error::new(
        ET_ERROR_NOT_SUPPORTED,
        "the tensor's data lies in a device's memory, which the CPU cannot read; copy it to the host first",
    )
}

#[inline]
fn expect_dtype<T: Element>(found: Dtype) -> Result<()> {
    if T::DTYPES.contains(&found) {
        return Ok(());
    }
    let expected = T::DTYPES.first().map_or("no dtype", |d| d.name());
    Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("expected a tensor of {expected}, found {found}")))
}

#[inline]
fn aligned<T>(data: *const u8) -> Result<()> {
    if data.addr().is_multiple_of(align_of::<T>()) {
        return Ok(());
    }
    Err(Error::new(
        ET_ERROR_INVALID_ARGUMENT,
        format!("the tensor's data is not aligned to {} bytes", align_of::<T>()),
    ))
}
