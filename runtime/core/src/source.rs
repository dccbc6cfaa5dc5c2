//! Where bytes come from: the caller's data loader, a mapped file, a file read to memory, or a buffer.

mod file;
mod loader;
mod mapping;

pub use file::{Mlock, from_buffer, open_descriptor, open_mapped, open_read};
pub use loader::{Buffer, Loader, Segment};

use executorch_abi::error::ET_ERROR_NOT_SUPPORTED;
use executorch_abi::{Error, Result};

/// A size that a file gives, as one of memory.
pub fn in_memory(size: u64) -> Result<usize> {
    usize::try_from(size)
        .map_err(|_| Error::new(ET_ERROR_NOT_SUPPORTED, format!("{size} bytes exceed the address space")))
}
