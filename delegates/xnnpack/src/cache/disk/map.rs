//! Opening and mapping files that somebody else may have put there.

use memmap2::{Mmap, MmapOptions};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A file in memory, shared with all processes that map it.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps a file, all of whose pages are there when it returns: they are about to be read.
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is private and read-only. Files of the folder are written under another name and never
        // changed under their own, and nobody but this user and root can write to those that `open` accepts; the
        // folder's documentation asks both not to.
        let map = unsafe { MmapOptions::new().populate().map(file) }?;
        Ok(Self(map))
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Opens a file for reading if there is one that nobody but this user or root can have written.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // A link could lead anywhere, and opening a pipe would wait for its writer.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    let refuse = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if !metadata.is_file() {
        return refuse("it is no regular file");
    }
    // SAFETY: the function has no precondition.
    let user = unsafe { libc::geteuid() };
    if metadata.uid() != user && metadata.uid() != 0 {
        return refuse("it belongs to another user");
    }
    if metadata.mode() & 0o022 != 0 {
        return refuse("others may write to it");
    }
    Ok((file, metadata))
}
