//! The operators that belong to the runtime itself: arithmetic on numbers, views, and copies between devices.
//!
//! Unlike a kernel's call, a call of one of these has no extra slot for a return value, except for the copies
//! between devices, which are declared as ordinary operators.

mod memory;
mod scalar;

use executorch_abi::error::ET_ERROR_INVALID_PROGRAM;
use executorch_abi::value::et_value_t;
use executorch_abi::{Args, Error, Result};
use std::ffi::CStr;

/// Runs an operator on a call's arguments.
pub type Run = fn(&Call<'_>) -> Result<()>;

/// An operator of the runtime.
#[derive(Debug, Clone, Copy)]
pub struct Prim {
    /// How many arguments a call has at least, its output included.
    pub arity: usize,
    /// Runs it.
    pub run: Run,
}

/// A call's arguments, the last of which may be written.
pub struct Call<'a> {
    args: Args<'a>,
    values: &'a [*mut et_value_t],
}

impl<'a> Call<'a> {
    /// Wraps the arguments of a call.
    ///
    /// # Safety
    /// Every pointer is valid and used by this thread alone during `'a`, and obeys the guarantee of
    /// `executorch_abi::view`.
    pub unsafe fn new(values: &'a [*mut et_value_t]) -> Self {
        // SAFETY: the caller's promise.
        Self { args: unsafe { Args::new(values.as_ptr(), values.len()) }, values }
    }

    fn give(&self, index: usize, value: et_value_t) -> Result<()> {
        let slot = self.values.get(index).ok_or_else(|| {
            Error::new(ET_ERROR_INVALID_PROGRAM, format!("argument {index} for the result is missing"))
        })?;
        // A tensor's slot must stay one: lists and views hold on to it.
        if self.args.is_tensor(index)? {
            return Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("argument {index} is a tensor, but the operator gives a number"),
            ));
        }
        // SAFETY: the constructor's contract.
        unsafe { slot.write(value) };
        Ok(())
    }
}

/// The operator of a name.
pub fn find(name: &CStr) -> Option<Prim> {
    let name = name.to_str().ok()?;
    scalar::find(name).or_else(|| memory::find(name))
}

/// The names of all operators of the runtime.
pub fn names() -> impl Iterator<Item = &'static str> {
    scalar::NAMES.iter().chain(memory::NAMES).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn every_name_is_found() {
        let all: Vec<_> = names().collect();
        assert_eq!(all.len(), 28 + 2, "upstream has 28, and the two copies between devices");
        for name in all {
            assert!(find(&CString::new(name).unwrap()).is_some(), "{name}");
        }
        assert!(find(c"executorch_prim::nothing").is_none());
    }
}
