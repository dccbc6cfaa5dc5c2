//! Where bytes come from: the caller's data loader, a mapped file, a file read to memory, or a buffer.

mod file;
mod loader;
mod mapping;

pub use file::{Mlock, from_buffer, open_descriptor, open_mapped, open_read};
pub use loader::{Buffer, Loader, Segment};
