//! A data loader of the ABI, owned.

use super::mapping::Mapping;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, c_void};
use std::ptr;

/// Every range is aligned to this in memory: what the strictest element type and FlatBuffers need.
const ALIGNMENT: usize = 16;

/// An owned data loader.
#[derive(Debug)]
pub struct Loader {
    table: et_data_loader_t,
}

// SAFETY: the ABI asks that a loader's functions are thread-safe and that `destroy` may run on any thread.
unsafe impl Send for Loader {}
// SAFETY: as above.
unsafe impl Sync for Loader {}

/// What a range is loaded for.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// `ET_SEGMENT_…`
    pub kind: et_segment_kind_t,
    /// The segment's index.
    pub index: usize,
    /// A name for the loader to log.
    pub name: Option<&'a CStr>,
}

impl Segment<'_> {
    fn info(&self) -> et_segment_info_t {
        et_segment_info_t {
            struct_size: size_of::<et_segment_info_t>() as u32,
            kind: self.kind,
            index: self.index,
            descriptor: self.name.map_or(ptr::null(), CStr::as_ptr),
        }
    }
}

impl Loader {
    /// Takes a loader over.
    ///
    /// # Safety
    /// `table` is a valid loader of the ABI that nobody else destroys.
    pub unsafe fn new(table: et_data_loader_t) -> Result<Self> {
        let loader = Self { table };
        if (table.struct_size as usize) < size_of::<et_data_loader_t>() {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!(
                    "the data loader says that its table has {} bytes, expected at least {}; set struct_size",
                    table.struct_size,
                    size_of::<et_data_loader_t>()
                ),
            ));
        }
        if table.load.is_none() || table.size.is_none() {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                "the data loader lacks its load or size function",
            ));
        }
        Ok(loader)
    }

    /// The number of bytes that can be loaded.
    pub fn size(&self) -> Result<u64> {
        let mut size = 0;
        let function = self.table.size.ok_or_else(missing)?;
        // SAFETY: the loader is valid by the contract of `new`.
        Error::check(unsafe { function(self.table.user_data, &mut size) })?;
        Ok(size)
    }

    /// Makes a range available, aligned to 16 bytes.
    pub fn load(&self, offset: u64, size: usize, segment: Segment<'_>) -> Result<Buffer> {
        if size == 0 {
            return Ok(Buffer::default());
        }
        let info = segment.info();
        let mut raw = et_buffer_t { data: ptr::null(), size: 0, free: None, context: ptr::null_mut() };
        let function = self.table.load.ok_or_else(missing)?;
        // SAFETY: the loader is valid by the contract of `new`; `info` and `raw` live through the call.
        Error::check(unsafe { function(self.table.user_data, offset, size, &info, &mut raw) })?;
        let buffer = Buffer { raw };
        if buffer.raw.data.is_null() || buffer.raw.size < size {
            return Err(Error::new(
                ET_ERROR_ACCESS_FAILED,
                format!("the data loader gave {} bytes at offset {offset}, expected {size}", buffer.raw.size),
            ));
        }
        if !buffer.raw.data.addr().is_multiple_of(ALIGNMENT) {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!(
                    "the bytes at offset {offset} lie at an address that is not a multiple of {ALIGNMENT}; \
                     give the program at an aligned address"
                ),
            ));
        }
        Ok(buffer)
    }

    /// Copies a range to `destination`.
    pub fn load_into(&self, offset: u64, destination: &mut [u8], segment: Segment<'_>) -> Result<()> {
        let Some(function) = self.table.load_into else {
            let buffer = self.load(offset, destination.len(), segment)?;
            destination.copy_from_slice(&buffer.bytes()[..destination.len()]);
            return Ok(());
        };
        let info = segment.info();
        let target = destination.as_mut_ptr().cast::<c_void>();
        // SAFETY: the loader is valid by the contract of `new`; the destination has the size that is said.
        Error::check(unsafe { function(self.table.user_data, offset, destination.len(), &info, target) })
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy {
            // SAFETY: the loader is owned, so this is the one call of `destroy`.
            unsafe { destroy(self.table.user_data) }
        }
    }
}

fn missing() -> Error {
    Error::new(ET_ERROR_INTERNAL, "a data loader without its functions got past its check")
}

/// Bytes that a loader or data map gave, given back when dropped.
#[derive(Debug)]
pub struct Buffer {
    raw: et_buffer_t,
}

// SAFETY: the bytes are not written while the buffer lives, and `free` may run on any thread.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Default for Buffer {
    fn default() -> Self {
        Self { raw: et_buffer_t { data: ptr::null(), size: 0, free: None, context: ptr::null_mut() } }
    }
}

impl Buffer {
    /// Takes a buffer over.
    ///
    /// # Safety
    /// `raw` is a valid buffer of the ABI that nobody else frees or writes to.
    pub unsafe fn new(raw: et_buffer_t) -> Self {
        Self { raw }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.raw.size == 0 || self.raw.data.is_null() {
            return &[];
        }
        // SAFETY: the buffer is valid by the contract of `new` or the checks of `Loader::load`.
        unsafe { std::slice::from_raw_parts(self.raw.data.cast(), self.raw.size) }
    }

    /// What identifies the bytes, if they lie in a mapped file: the file's number, and their offset in it.
    pub fn identity(&self, bytes: &[u8]) -> Option<[u64; 2]> {
        let (mapping, offset) = Mapping::behind(self.raw.context, bytes)?;
        Some([mapping.identity(), offset as u64])
    }

    /// Lets the system take the memory of `bytes`, a part of the buffer, back where it can be had again from a file.
    pub fn discard(&self, bytes: &[u8]) {
        if let Some((mapping, offset)) = Mapping::behind(self.raw.context, bytes) {
            mapping.discard(offset, bytes.len());
        }
    }

    /// Gives the raw buffer away; the receiver frees it.
    pub fn into_raw(self) -> et_buffer_t {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(free) = self.raw.free {
            // SAFETY: the buffer is owned, so this is the one call of `free`.
            unsafe { free(self.raw.context, self.raw.data, self.raw.size) }
        }
    }
}
