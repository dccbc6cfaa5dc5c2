//! Packed weights on disk: a folder with a file for each graph, which all processes map. `docs/weight-cache.md`
//! explains it.

mod folder;
mod format;
mod map;
mod quota;

#[cfg(test)]
mod tests;

pub use folder::{Folder, Pack};
pub use format::Reference;
pub use map::Mapped;
