//! Values in memory as slices, and constants as elements.

use crate::graph::{Constant, Dims, Graph, Role, ValueId};
use bytemuck::AnyBitPattern;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use std::borrow::Cow;

/// A value that an operation reads or writes: where to find it, and its elements.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    id: ValueId,
    length: usize,
}

impl Operand {
    /// A value whose shape is not known yet.
    pub fn new(id: ValueId) -> Self {
        Self { id, length: 0 }
    }

    /// Takes the value's shape, and gives it.
    pub fn reshape<'s>(&mut self, shapes: &'s [Dims]) -> Result<&'s [usize]> {
        let shape = shapes.get(self.id.index()).ok_or_else(|| missing("a shape"))?;
        let length = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
        self.length = length.ok_or_else(|| missing("a size that fits"))?;
        Ok(shape)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    fn address(&self, addresses: &[*mut u8]) -> Result<*mut u8> {
        addresses.get(self.id.index()).copied().filter(|a| !a.is_null()).ok_or_else(|| missing("memory"))
    }

    /// The elements, to be read.
    ///
    /// # Safety
    /// The value's address holds as many aligned elements of type `T` as its shape says, which nobody writes to
    /// during `'a`.
    pub unsafe fn read<'a, T: AnyBitPattern>(&self, addresses: &[*mut u8]) -> Result<&'a [T]> {
        let start = self.address(addresses)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(start.cast(), self.length) })
    }

    /// The elements, to be written.
    ///
    /// # Safety
    /// As for [`Operand::read`], and nobody else reads them during `'a`.
    pub unsafe fn write<'a, T: AnyBitPattern>(&self, addresses: &[*mut u8]) -> Result<&'a mut [T]> {
        let start = self.address(addresses)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts_mut(start.cast(), self.length) })
    }
}

fn missing(what: &str) -> Error {
    Error::new(ET_ERROR_INTERNAL, format!("a value has not {what}: the plan is wrong"))
}

/// The constant that a value is.
pub fn constant(graph: &Graph, id: ValueId) -> Result<&Constant> {
    match &graph.value(id).role {
        Role::Constant(constant) => Ok(constant),
        _ => Err(missing("constant bytes")),
    }
}

/// A constant's elements, copied if they are not aligned.
pub fn elements<T: AnyBitPattern>(constant: &Constant) -> Cow<'_, [T]> {
    let bytes = constant.bytes();
    match bytemuck::try_cast_slice(bytes) {
        Ok(elements) => Cow::Borrowed(elements),
        Err(_) => Cow::Owned(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()),
    }
}
