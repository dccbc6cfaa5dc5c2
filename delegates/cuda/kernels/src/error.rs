//! Why a kernel was not launched.

use std::fmt;

/// The result of a launch.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel was not launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Sizes that the kernel is not made for; the text says which, and what is expected.
    Unsupported(String),
    /// There is no device code for the device.
    NoCode(String),
    /// CUDA's own failure.
    Cuda(executorch_cuda_driver::Error),
}

impl From<executorch_cuda_driver::Error> for Error {
    fn from(error: executorch_cuda_driver::Error) -> Self {
        Self::Cuda(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(text) | Self::NoCode(text) => f.write_str(text),
            Self::Cuda(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Fails unless an address is a multiple of `alignment`, as the kernel's wide loads need.
pub(crate) fn aligned(address: *const std::ffi::c_void, alignment: usize, name: &str) -> Result<()> {
    if address.addr().is_multiple_of(alignment) {
        return Ok(());
    }
    Err(Error::Unsupported(format!("{name} at {address:p}, expected a multiple of {alignment} bytes")))
}

/// A number as a kernel's 32-bit parameter.
pub(crate) fn narrow(number: u64, name: &str) -> Result<u32> {
    // Products of two such numbers, and sums of a few, must not overflow a signed number.
    u32::try_from(number)
        .ok()
        .filter(|&number| number < 1 << 31)
        .ok_or_else(|| Error::Unsupported(format!("{name} is {number}, expected less than 2^31")))
}
