//! Loaders of files: mapped, read to memory, or through a descriptor.

use super::mapping::Mapping;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::{Error, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// Whether mapped pages are locked in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mlock {
    /// They are not.
    No,
    /// They are; a failure is an error.
    Yes,
    /// They are if possible.
    Try,
    /// The kernel is asked to read ahead instead.
    ReadAhead,
}

/// Memory for file contents is aligned like the segments of a file.
const READ_ALIGNMENT: usize = 128;

/// A loader that maps `path`.
pub fn open_mapped(path: &Path, mlock: Mlock) -> Result<et_data_loader_t> {
    let file = open(path)?;
    Ok(table(Mapping::of(&file, mlock).map_err(|e| failed(path, "map", &e))?))
}

/// A loader that reads ranges of `path` to memory.
pub fn open_read(path: &Path) -> Result<et_data_loader_t> {
    let file = open(path)?;
    let size = file.metadata().map_err(|e| failed(path, "read the size of", &e))?.len();
    Ok(table(ReadFile { file, size }))
}

/// A loader that reads ranges of an open file, of which it keeps a duplicate.
pub fn open_descriptor(descriptor: BorrowedFd<'_>) -> Result<et_data_loader_t> {
    let place = Path::new("the file descriptor");
    let file = File::from(descriptor.try_clone_to_owned().map_err(|e| failed(place, "duplicate", &e))?);
    let size = file.metadata().map_err(|e| failed(place, "read the size of", &e))?.len();
    Ok(table(ReadFile { file, size }))
}

fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|e| failed(path, "open", &e))?;
    let metadata = file.metadata().map_err(|e| failed(path, "read the size of", &e))?;
    if !metadata.is_file() {
        return Err(Error::new(ET_ERROR_ACCESS_FAILED, format!("{} is not a file", path.display())));
    }
    Ok(file)
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::NotFound => ET_ERROR_NOT_FOUND,
        _ => ET_ERROR_ACCESS_FAILED,
    };
    Error::new(code, format!("cannot {what} {}: {error}", path.display()))
}

/// What a loader of this module does; the table's functions call it.
trait Source: Send + Sync + 'static {
    fn size(&self) -> u64;
    /// `offset + size` lies within `self.size()`.
    fn load(&self, offset: u64, size: usize) -> io::Result<et_buffer_t>;
    /// As for `load`.
    fn load_into(&self, offset: u64, destination: &mut [u8]) -> io::Result<()>;
}

impl Source for Arc<Mapping> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn load(&self, offset: u64, size: usize) -> io::Result<et_buffer_t> {
        let bytes = range(self, offset, size)?;
        let context = Arc::as_ptr(self).cast_mut().cast();
        Ok(et_buffer_t { data: bytes.as_ptr().cast(), size, free: None, context })
    }

    fn load_into(&self, offset: u64, destination: &mut [u8]) -> io::Result<()> {
        destination.copy_from_slice(range(self, offset, destination.len())?);
        Ok(())
    }
}

fn range(bytes: &[u8], offset: u64, size: usize) -> io::Result<&[u8]> {
    usize::try_from(offset)
        .ok()
        .and_then(|start| bytes.get(start..start.checked_add(size)?))
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
}

struct ReadFile {
    file: File,
    size: u64,
}

impl Source for ReadFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn load(&self, offset: u64, size: usize) -> io::Result<et_buffer_t> {
        let layout = Layout::from_size_align(size.max(1), READ_ALIGNMENT).map_err(io::Error::other)?;
        // SAFETY: the layout's size is not zero.
        let data = unsafe { alloc(layout) };
        if data.is_null() {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        // SAFETY: `data` holds `size` bytes; they are zeroed before a reference to them exists.
        let bytes = unsafe {
            ptr::write_bytes(data, 0, size);
            std::slice::from_raw_parts_mut(data, size)
        };
        let buffer = et_buffer_t { data: data.cast(), size, free: Some(free_read), context: ptr::null_mut() };
        if let Err(error) = self.file.read_exact_at(bytes, offset) {
            // SAFETY: the buffer was made above and is given to nobody.
            unsafe { free_read(buffer.context, buffer.data, size) };
            return Err(error);
        }
        Ok(buffer)
    }

    fn load_into(&self, offset: u64, destination: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(destination, offset)
    }
}

unsafe extern "C" fn free_read(_: *mut c_void, data: *const c_void, size: usize) {
    if let Ok(layout) = Layout::from_size_align(size.max(1), READ_ALIGNMENT) {
        // SAFETY: `data` came from `ReadFile::load`, which allocated it with this layout.
        unsafe { dealloc(data.cast_mut().cast(), layout) }
    }
}

fn table<S: Source>(source: S) -> et_data_loader_t {
    et_data_loader_t {
        struct_size: size_of::<et_data_loader_t>() as u32,
        reserved: 0,
        user_data: Box::into_raw(Box::new(source)).cast(),
        load: Some(load::<S>),
        load_into: Some(load_into::<S>),
        size: Some(size::<S>),
        destroy: Some(destroy::<S>),
    }
}

fn check(size: u64, offset: u64, length: usize) -> Result<()> {
    if offset.checked_add(length as u64).is_some_and(|end| end <= size) {
        return Ok(());
    }
    Err(Error::new(
        ET_ERROR_INVALID_ARGUMENT,
        format!("{length} bytes at offset {offset} were asked for, but the file has {size} bytes"),
    ))
}

fn report(result: Result<()>) -> et_error_t {
    result.map_or_else(|error| error.set_last(), |()| ET_OK)
}

fn read_error(error: io::Error) -> Error {
    Error::new(ET_ERROR_ACCESS_FAILED, format!("cannot read the file: {error}"))
}

unsafe extern "C" fn load<S: Source>(
    user_data: *mut c_void,
    offset: u64,
    size: usize,
    _: *const et_segment_info_t,
    out: *mut et_buffer_t,
) -> et_error_t {
    // SAFETY: `user_data` is the source that `table` boxed, alive until `destroy`.
    let source = unsafe { &*user_data.cast::<S>() };
    report(check(source.size(), offset, size).and_then(|()| {
        let buffer = source.load(offset, size).map_err(read_error)?;
        // SAFETY: the caller gives a place for the buffer.
        unsafe { out.write(buffer) };
        Ok(())
    }))
}

unsafe extern "C" fn load_into<S: Source>(
    user_data: *mut c_void,
    offset: u64,
    size: usize,
    _: *const et_segment_info_t,
    destination: *mut c_void,
) -> et_error_t {
    if size == 0 {
        return ET_OK;
    }
    // SAFETY: `user_data` is as in `load`; the caller's destination holds `size` bytes.
    let (source, destination) =
        unsafe { (&*user_data.cast::<S>(), std::slice::from_raw_parts_mut(destination.cast::<u8>(), size)) };
    report(
        check(source.size(), offset, size)
            .and_then(|()| source.load_into(offset, destination).map_err(read_error)),
    )
}

unsafe extern "C" fn size<S: Source>(user_data: *mut c_void, out: *mut u64) -> et_error_t {
    // SAFETY: `user_data` is as in `load`; the caller gives a place for the size.
    unsafe { out.write((*user_data.cast::<S>()).size()) };
    ET_OK
}

unsafe extern "C" fn destroy<S: Source>(user_data: *mut c_void) {
    // SAFETY: `user_data` is the source that `table` boxed, and this is the one call of `destroy`.
    drop(unsafe { Box::from_raw(user_data.cast::<S>()) });
}

/// Bytes of the caller, used in place.
struct Bytes(super::Buffer);

impl Source for Bytes {
    fn size(&self) -> u64 {
        self.0.bytes().len() as u64
    }

    fn load(&self, offset: u64, size: usize) -> io::Result<et_buffer_t> {
        let bytes = range(self.0.bytes(), offset, size)?;
        Ok(et_buffer_t { data: bytes.as_ptr().cast(), size, free: None, context: ptr::null_mut() })
    }

    fn load_into(&self, offset: u64, destination: &mut [u8]) -> io::Result<()> {
        destination.copy_from_slice(range(self.0.bytes(), offset, destination.len())?);
        Ok(())
    }
}

/// A loader over the caller's bytes.
///
/// # Safety
/// `buffer` obeys the contract of `et_data_loader_from_buffer`.
pub unsafe fn from_buffer(buffer: et_buffer_t) -> et_data_loader_t {
    // SAFETY: the caller's promise.
    table(Bytes(unsafe { super::Buffer::new(buffer) }))
}
