//! Failures, told so that a user knows what to install or to change.

use crate::sys::{self, Status};
use std::fmt;

/// The result of anything that calls CUDA.
pub type Result<T> = std::result::Result<T, Error>;

/// A function that a library lacks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missing {
    pub library: &'static str,
    pub symbol: &'static str,
}

/// Why something of CUDA could not be had or done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// CUDA cannot be used in this process: a library is missing, too old, of another major, or damaged. The text says which,
    /// where it was looked for, and what to install.
    Unavailable(String),
    /// A call of CUDA failed.
    Call {
        /// The function, as CUDA calls it.
        function: &'static str,
        /// What it returned.
        code: Status,
        /// CUDA's name of the code, such as `cudaErrorMemoryAllocation`.
        name: String,
        /// CUDA's explanation.
        text: String,
    },
    /// An argument that CUDA was not asked about, because it cannot be right.
    Argument(String),
}

impl Error {
    /// Whether the device had too little memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Call { code: sys::OUT_OF_MEMORY, .. })
    }

    /// Whether CUDA cannot be used at all, so that nothing on this machine would succeed.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Call { code, .. } => [sys::NO_DEVICE, sys::INSUFFICIENT_DRIVER].contains(code),
            Self::Argument(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(text) | Self::Argument(text) => f.write_str(text),
            Self::Call { function, code, name, text } => {
                write!(f, "{function} failed: {text} ({name}, {code})")?;
                match *code {
                    sys::OUT_OF_MEMORY => f.write_str("; free memory of the device, or use smaller inputs"),
                    sys::NO_DEVICE => {
                        f.write_str("; no NVIDIA GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
                    }
                    sys::INSUFFICIENT_DRIVER => f.write_str("; update the NVIDIA driver"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Error {}
