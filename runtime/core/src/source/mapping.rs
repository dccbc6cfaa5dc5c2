//! Mapped files: one mapping for each file of the process, and what identifies the data in it.
//!
//! Buffers that point into a mapping carry the mapping's address as their `context`, so that whoever holds one, also
//! through a caller's loader or data map that passes it on, can ask what file it belongs to.

use super::Mlock;
use crate::program::next_identity;
use memmap2::{Advice, Mmap};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What tells one state of a file from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    mlock: Mlock,
}

impl FileState {
    fn of(metadata: &Metadata, mlock: Mlock) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            mlock,
        }
    }
}

/// A mapped file.
#[derive(Debug)]
pub struct Mapping {
    map: Mmap,
    identity: u64,
    state: FileState,
}

#[derive(Default)]
struct Live {
    by_state: HashMap<FileState, Weak<Mapping>>,
    by_address: HashMap<usize, Weak<Mapping>>,
}

static LIVE: Mutex<Option<Live>> = Mutex::new(None);

fn live() -> MutexGuard<'static, Option<Live>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mapping {
    /// The mapping of a file, shared with all others who have it open in the same state.
    pub fn of(file: &File, mlock: Mlock) -> io::Result<Arc<Self>> {
        let state = FileState::of(&file.metadata()?, mlock);
        let mut guard = live();
        let live = guard.get_or_insert_default();
        if let Some(mapping) = live.by_state.get(&state).and_then(Weak::upgrade) {
            return Ok(mapping);
        }
        // SAFETY: the mapping is private and read-only; the ABI asks callers not to truncate a mapped file.
        let map = unsafe { Mmap::map(file) }?;
        match mlock {
            Mlock::No => {}
            Mlock::Yes => map.lock()?,
            // Best effort by contract: the mapping works without.
            Mlock::Try => drop(map.lock()),
            Mlock::ReadAhead => drop(map.advise(Advice::WillNeed)),
        }
        let mapping = Arc::new(Self { map, identity: next_identity(), state });
        live.by_state.insert(state, Arc::downgrade(&mapping));
        live.by_address.insert(Arc::as_ptr(&mapping).addr(), Arc::downgrade(&mapping));
        Ok(mapping)
    }

    /// The mapping whose address a buffer carries, if it is one and the bytes lie in it, and their offset in it.
    pub fn behind(context: *const c_void, bytes: &[u8]) -> Option<(Arc<Self>, usize)> {
        let mapping = live().as_ref()?.by_address.get(&context.addr())?.upgrade()?;
        let offset = bytes.as_ptr().addr().checked_sub(mapping.as_ptr().addr())?;
        (offset.checked_add(bytes.len())? <= mapping.len()).then_some((mapping, offset))
    }

    /// A number that no other file, and no other state of this one, has or had.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Lets the system take the pages of a range back; they come from the file again if somebody reads them.
    pub fn discard(&self, offset: usize, size: usize) {
        // SAFETY: asks for the system's page size.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
        let first = offset.div_ceil(page).saturating_mul(page);
        let end = offset.saturating_add(size).min(self.len()) / page * page;
        if first >= end {
            return;
        }
        let start = self.as_ptr().wrapping_add(first).cast_mut().cast();
        // A failure (locked pages) leaves the pages where they are.
        // SAFETY: the range lies within the mapping, which is private and was never written to, so that its pages
        // have the file's contents whenever they are read.
        unsafe { libc::madvise(start, end - first, libc::MADV_DONTNEED) };
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let mut guard = live();
        let Some(live) = guard.as_mut() else { return };
        live.by_address.remove(&std::ptr::from_ref(self).addr());
        // Another one may have taken the place since this one's last owner went.
        if live.by_state.get(&self.state).is_some_and(|other| other.strong_count() == 0) {
            live.by_state.remove(&self.state);
        }
    }
}
