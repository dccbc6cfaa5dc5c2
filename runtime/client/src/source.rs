//! Where a program's or data file's bytes come from.

use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::{Error, Result};
use std::ffi::{CString, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

/// The runtime uses bytes in place if they are aligned to this.
const ALIGNMENT: usize = 16;

/// How a file is brought into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadMode {
    /// Read all of it.
    Read,
    /// Map it; pages come in as they are used. The file must not be truncated while it is in use.
    #[default]
    Map,
    /// Map it and ask for read-ahead.
    MapAhead,
    /// Map it and lock the pages in memory, which may fail.
    MapLocked,
}

/// Bytes to load from. Consumed by the load, which keeps alive what it needs.
pub struct Source(Option<et_data_loader_t>);

impl Source {
    /// A file. Fails naming the path if it cannot be opened.
    pub fn open(path: &Path, mode: LoadMode) -> Result<Self> {
        let text = CString::new(path.as_os_str().as_bytes()).map_err(|_| {
            Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the path {path:?} contains a NUL character"))
        })?;
        let mode = match mode {
            LoadMode::Read => ET_LOAD_FILE,
            LoadMode::Map => ET_LOAD_MMAP,
            LoadMode::MapAhead => ET_LOAD_MMAP_MADVISE,
            LoadMode::MapLocked => ET_LOAD_MMAP_MLOCK,
        };
        // SAFETY: a NUL-terminated path and a place for the loader.
        Self::made(|out| unsafe { et_data_loader_open_file(text.as_ptr(), mode, out) })
    }

    /// An open file; the descriptor is duplicated and its position not used.
    pub fn descriptor(file: BorrowedFd<'_>) -> Result<Self> {
        // SAFETY: an open descriptor and a place for the loader.
        Self::made(|out| unsafe { et_data_loader_from_descriptor(file.as_raw_fd(), out) })
    }

    /// Bytes in memory, used in place if they are aligned to 16 and copied otherwise. `bytes` lives as long as
    /// anything that is loaded from it, and is dropped on any thread.
    pub fn bytes<B: AsRef<[u8]> + Send + Sync + 'static>(bytes: B) -> Result<Self> {
        if bytes.as_ref().as_ptr().addr().is_multiple_of(ALIGNMENT) {
            return Self::in_place(Box::new(bytes));
        }
        Self::in_place(Box::new(Aligned::copy(bytes.as_ref())))
    }

    fn in_place<B: AsRef<[u8]> + Send + Sync + 'static>(owner: Box<B>) -> Result<Self> {
        unsafe extern "C" fn free<B>(context: *mut c_void, _data: *const c_void, _size: usize) {
            // SAFETY: called once with the box that `in_place` gave away.
            drop(unsafe { Box::from_raw(context.cast::<B>()) });
        }
        let owner = Box::into_raw(owner);
        // SAFETY: the box is not touched again before `free` takes it back.
        let bytes = unsafe { &*owner }.as_ref();
        let buffer = et_buffer_t {
            data: bytes.as_ptr().cast(),
            size: bytes.len(),
            free: Some(free::<B>),
            context: owner.cast(),
        };
        // SAFETY: a valid buffer, whose bytes live until it is freed, and a place for the loader.
        let source = Self::made(|out| unsafe { et_data_loader_from_buffer(&buffer, out) });
        if source.is_err() {
            // SAFETY: the loader was not made, so nobody else has the box.
            drop(unsafe { Box::from_raw(owner) });
        }
        source
    }

    fn made(make: impl FnOnce(*mut et_data_loader_t) -> et_error_t) -> Result<Self> {
        let mut loader = et_data_loader_t {
            struct_size: size_of::<et_data_loader_t>() as u32,
            reserved: 0,
            user_data: null_mut(),
            load: None,
            load_into: None,
            size: None,
            destroy: None,
        };
        Error::check(make(&mut loader))?;
        Ok(Self(Some(loader)))
    }

    /// Hands the loader to a function of the ABI that takes ownership of it, also on failure.
    pub(crate) fn give<T>(mut self, take: impl FnOnce(*const et_data_loader_t) -> Result<T>) -> Result<T> {
        match self.0.take() {
            Some(loader) => take(&loader),
            None => Err(Error::new(ET_ERROR_INTERNAL, "the source was used before")),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some(loader) = self.0.take()
            && let Some(destroy) = loader.destroy
        {
            // SAFETY: the loader was never given away, so this is its only end.
            unsafe { destroy(loader.user_data) };
        }
    }
}

/// A copy whose first byte is aligned.
struct Aligned {
    blocks: Vec<Block>,
    size: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Block([u8; ALIGNMENT]);

impl Aligned {
    fn copy(bytes: &[u8]) -> Self {
        let block = |chunk: &[u8]| {
            let mut block = Block([0; ALIGNMENT]);
            block.0[..chunk.len()].copy_from_slice(chunk);
            block
        };
        Self { blocks: bytes.chunks(ALIGNMENT).map(block).collect(), size: bytes.len() }
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: blocks are plain bytes without padding, and together hold at least `size` of them.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast(), self.size) }
    }
}
