//! The one error type of the crate.

use std::fmt;

/// Why a product or convolution was refused: what was expected, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Product of sizes, refused when it does not fit in a `usize`.
pub(crate) fn product(what: &str, sizes: &[usize]) -> Result<usize> {
    sizes
        .iter()
        .try_fold(1usize, |acc, &s| acc.checked_mul(s))
        .ok_or_else(|| Error::new(format!("{what}: sizes {sizes:?} overflow the address space")))
}

/// Highest offset that `sizes` and `strides` reach, plus one (0 for an empty shape).
pub(crate) fn extent(what: &str, sizes: &[usize], strides: &[usize]) -> Result<usize> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes
        .iter()
        .zip(strides)
        .try_fold(0usize, |acc, (&size, &stride)| acc.checked_add((size - 1).checked_mul(stride)?))
        .and_then(|last| last.checked_add(1))
        .ok_or_else(|| {
            Error::new(format!("{what}: sizes {sizes:?} with strides {strides:?} overflow the address space"))
        })
}
