//! Programs.

use crate::data_map;
use crate::meta::MethodMeta;
use crate::method::Method;
use crate::options::MethodOptions;
use crate::source::{LoadMode, Source};
use crate::text;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::program::*;
use executorch_abi::{Error, Result};
use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::slice;

/// A loaded, verified program. Immutable; cloning it shares it; usable from any thread. Its methods keep it alive.
pub struct Program(NonNull<et_program_t>);

// SAFETY: a program is immutable and may be used from several threads; its reference count is atomic.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

impl Clone for Program {
    fn clone(&self) -> Self {
        // SAFETY: a live handle.
        unsafe { et_program_retain(self.0.as_ptr()) };
        Self(self.0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: gives back the one reference that this value stands for.
        unsafe { et_program_release(self.0.as_ptr()) };
    }
}

/// What a file holds besides its methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Bytes of the structure.
    pub structure_bytes: u64,
    /// The number of constants.
    pub constant_count: usize,
    /// Bytes of all constants.
    pub constant_bytes: u64,
    /// The number of initial values of mutable tensors.
    pub mutable_count: usize,
    /// Bytes of them.
    pub mutable_bytes: u64,
}

impl Program {
    /// Maps and verifies the file at `path`; an error names it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::load(Source::open(path.as_ref(), LoadMode::Map)?).map_err(|e| e.within(path.as_ref().display()))
    }

    /// Loads and verifies a program from a source.
    pub fn load(source: Source) -> Result<Self> {
        let mut program = null_mut();
        // SAFETY: the loader is given away, and there is a place for the handle.
        source.give(|loader| Error::check(unsafe { et_program_load(loader, &mut program) }))?;
        NonNull::new(program).map(Self).ok_or_else(missing)
    }

    pub(crate) fn raw(&self) -> *mut et_program_t {
        self.0.as_ptr()
    }

    /// The methods, in the file's order.
    pub fn methods(&self) -> Vec<MethodMeta> {
        // SAFETY: a live handle, here and below.
        let count = unsafe { et_program_method_count(self.raw()) };
        let at = |index| {
            // SAFETY: as above; the metadata is this program's.
            unsafe {
                let raw = NonNull::new(et_program_method_at(self.raw(), index).cast_mut())?;
                Some(MethodMeta::new(raw, self.clone()))
            }
        };
        (0..count).filter_map(at).collect()
    }

    /// The method of a name; an error lists the methods that there are.
    pub fn method(&self, name: &str) -> Result<MethodMeta> {
        let name = text::to_c(name, "the method's name")?;
        let mut meta = null();
        // SAFETY: a live handle, a NUL-terminated name, and a place for the metadata, which is this program's.
        unsafe {
            Error::check(et_program_method_find(self.raw(), name.as_ptr(), &mut meta))?;
            let meta = NonNull::new(meta.cast_mut()).ok_or_else(missing)?;
            Ok(MethodMeta::new(meta, self.clone()))
        }
    }

    /// Loads a method: allocates its memory, initialises its delegates, prepares its kernels.
    pub fn load_method(&self, name: &str, options: MethodOptions) -> Result<Method> {
        Method::load(self, name, options)
    }

    /// What is in the payload of delegate `index` of a method, as its backend says: the JSON of
    /// `et_backend_t::describe`. Nothing is loaded; `options` are those of a load. `ET_ERROR_NOT_IMPLEMENTED` if the
    /// backend describes nothing.
    pub fn describe_delegate(&self, method: &str, index: usize, options: &MethodOptions) -> Result<String> {
        unsafe extern "C" fn collect(context: *mut c_void, text: *const c_char, length: usize) {
            // SAFETY: the context is the vector below, and the text has that length.
            unsafe {
                let bytes = if length == 0 { &[] } else { slice::from_raw_parts(text.cast::<u8>(), length) };
                (*context.cast::<Vec<u8>>()).extend_from_slice(bytes);
            }
        }
        let name = text::to_c(method, "the method's name")?;
        let mut bytes = Vec::<u8>::new();
        let context = (&raw mut bytes).cast();
        // SAFETY: a live handle, a NUL-terminated name, valid options, and a sink for its context.
        options.raw(|options| unsafe {
            let describe = et_program_describe_delegate;
            Error::check(describe(self.raw(), name.as_ptr(), index, options, Some(collect), context))
        })?;
        String::from_utf8(bytes).map_err(|_| {
            Error::new(ET_ERROR_INTERNAL, format!("the backend of delegate {index} described it in no UTF-8"))
        })
    }

    /// What the file holds besides its methods.
    pub fn info(&self) -> Result<ProgramInfo> {
        let info = self.describe()?;
        Ok(ProgramInfo {
            structure_bytes: info.structure_bytes,
            constant_count: info.constant_count,
            constant_bytes: info.constant_bytes,
            mutable_count: info.mutable_count,
            mutable_bytes: info.mutable_bytes,
        })
    }

    fn describe(&self) -> Result<et_program_info_t> {
        let mut info = et_program_info_t {
            struct_size: size_of::<et_program_info_t>() as u32,
            reserved: 0,
            structure_bytes: 0,
            constant_count: 0,
            constant_bytes: 0,
            mutable_count: 0,
            mutable_bytes: 0,
            segment_count: 0,
            segment_bytes: 0,
        };
        // SAFETY: a live handle and a place of the size that it says.
        Error::check(unsafe { et_program_describe(self.raw(), &mut info) })?;
        Ok(info)
    }

    /// Offset in the file and size of every segment.
    pub fn segments(&self) -> Result<Vec<(u64, u64)>> {
        let read = |index| {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: a live handle and places for the numbers.
            Error::check(unsafe { et_program_segment(self.raw(), index, &mut offset, &mut size) })?;
            Ok((offset, size))
        };
        (0..self.describe()?.segment_count).map(read).collect()
    }

    /// The names of the program's named data.
    pub fn named_data(&self) -> Vec<String> {
        // SAFETY: a live handle, whose map lives as long as it.
        unsafe { data_map::keys(et_program_data_map(self.raw())) }
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Program").field(&self.methods()).finish()
    }
}

pub(crate) fn missing() -> Error {
    Error::new(ET_ERROR_INTERNAL, "the runtime succeeded but gave no object")
}
