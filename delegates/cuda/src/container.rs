//! AOTInductor's container: what a compiled model's library makes, runs and destroys.

use crate::library::{Functions, Library, Pair, RawContainer, Status};
use crate::shim::{RawTensor, View, view};
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// A container, deleted when dropped; then its library is closed.
///
/// Its functions take locks of their own and may be called from any thread.
#[derive(Debug)]
pub struct Container {
    raw: RawContainer,
    inputs: usize,
    outputs: usize,
    library: Library,
}

// SAFETY: a container may be used and deleted on any thread, as AOTInductor says.
unsafe impl Send for Container {}
// SAFETY: as above; its functions synchronise among themselves.
unsafe impl Sync for Container {}

/// What a container knows about one of its constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// The container's own name.
    pub name: CString,
    /// The model's name, empty if it has none there.
    pub model_name: String,
    /// PyTorch's number of the element type, if it can be told.
    pub dtype: Option<i32>,
    /// Its bytes in a file of constants, if they can be told.
    pub bytes: Option<usize>,
    /// It is computed from others, and in no file.
    pub is_folded: bool,
}

impl Container {
    /// Makes the container of a library, on the current device.
    pub fn create(library: Library) -> Result<Self> {
        let functions = *library.functions();
        let mut raw = ptr::null_mut();
        forget_last_error();
        // SAFETY: called as AOTInductor demands: a place for the container, one model, and NUL-terminated texts.
        let status = unsafe { (functions.create)(&raw mut raw, 1, c"cuda".as_ptr(), ptr::null()) };
        check(&functions, "it could not be created", status)?;
        if raw.is_null() {
            return Err(Error::new(ET_ERROR_INTERNAL, "the compiled model made no container"));
        }
        let mut made = Self { raw, inputs: 0, outputs: 0, library };
        made.inputs = made.count("its inputs could not be counted", functions.input_count)?;
        made.outputs = made.count("its outputs could not be counted", functions.output_count)?;
        Ok(made)
    }

    /// The number of its inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of its outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Whether constants can be bound to tensors of the delegate.
    pub fn can_bind(&self) -> bool {
        let functions = self.functions();
        functions.bind.is_some()
            && functions.constant_count.is_some()
            && functions.constant_name.is_some()
            && functions.constant_model_name.is_some()
    }

    /// Its constants, in its order; none if it is too old to tell.
    pub fn constants(&self) -> Result<Option<Vec<Constant>>> {
        let functions = self.functions();
        let (Some(count), Some(name), Some(model_name)) =
            (functions.constant_count, functions.constant_name, functions.constant_model_name)
        else {
            return Ok(None);
        };
        let count = self.count("its constants could not be counted", count)?;
        (0..count)
            .map(|index| {
                Ok(Constant {
                    name: self.text("a constant's name could not be read", name, index)?,
                    model_name: self
                        .text("a constant's name could not be read", model_name, index)?
                        .into_string()
                        .map_err(|_| {
                            Error::new(ET_ERROR_INVALID_PROGRAM, "a constant's name is no UTF-8 text")
                        })?,
                    dtype: self.number(functions.constant_dtype, index, 0)?,
                    bytes: self.number(functions.constant_size, index, 0)?,
                    is_folded: self.number(functions.constant_is_folded, index, false)?.unwrap_or_default(),
                })
            })
            .collect::<Result<Vec<_>>>()
            .map(Some)
    }

    /// Loads all constants from the bytes of a file, whose size [`constants`](Self::constants) tells. Copies may go on when it
    /// returns. False if the container is too old to do so.
    pub fn load_blob(&self, bytes: &[u8]) -> Result<bool> {
        let Some(load) = self.functions().load_blob else { return Ok(false) };
        forget_last_error();
        // SAFETY: the container is alive, and reads no more bytes than its constants have, which the caller checked.
        let status = unsafe { load(self.raw, bytes.as_ptr()) };
        check(self.functions(), "its constants could not be loaded", status).map(|()| true)
    }

    /// Calls `each` with the name, in the model, and the view of each constant that the container has loaded.
    pub fn extract(&self, mut each: impl FnMut(&str, View<'_>) -> Result<()>) -> Result<()> {
        let Some(extract) = self.functions().extract else { return Ok(()) };
        let (mut entries, mut count) = (ptr::null(), 0);
        forget_last_error();
        // SAFETY: the container is alive, and there are places for the results.
        let status = unsafe { extract(self.raw, &raw mut entries, &raw mut count, false) };
        check(self.functions(), "its constants could not be listed", status)?;
        if entries.is_null() || count == 0 {
            return Ok(());
        }
        // SAFETY: the container's array holds as many entries, until it is asked again or changed: not before this returns,
        // since only the thread that loads the container does so.
        for entry in unsafe { std::slice::from_raw_parts(entries, count) } {
            if entry.name.is_null() || entry.handle.is_null() {
                continue;
            }
            // SAFETY: entries hold NUL-terminated names and live tensors.
            let (name, view) = unsafe { (CStr::from_ptr(entry.name), view(entry.handle)?) };
            each(name.to_str().unwrap_or_default(), view)?;
        }
        Ok(())
    }

    /// Lets constants be tensors of the delegate from now on; `all` says that none else is left without one.
    ///
    /// # Safety
    /// The tensors are of the constants' shapes, and alive while the container runs.
    pub unsafe fn bind(&self, pairs: &[Pair], all: bool) -> Result<()> {
        let Some(bind) = self.functions().bind else {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                "the compiled model is too old for shared constants; export it with PyTorch 2.9 or newer",
            ));
        };
        forget_last_error();
        // SAFETY: the container is alive; the array holds as many pairs as is said; the caller's promise.
        let status = unsafe { bind(self.raw, pairs.as_ptr(), pairs.len(), false, all) };
        check(self.functions(), "its constants could not be bound", status)
    }

    /// Runs it. The container takes the inputs' handles over, and writes null in their places as it does; it leaves outputs'
    /// handles as they are, or writes others over them, which are the caller's.
    ///
    /// # Safety
    /// There are as many handles as the container has inputs and outputs, all alive, and so is the stream.
    pub unsafe fn run(
        &self,
        inputs: &mut [*mut RawTensor],
        outputs: &mut [*mut RawTensor],
        stream: *mut c_void,
    ) -> Result<()> {
        forget_last_error();
        // SAFETY: the container is alive; the caller's promise for the rest. No model of the delegate's has a proxy.
        let status = unsafe {
            (self.functions().run)(
                self.raw,
                inputs.as_mut_ptr(),
                inputs.len(),
                outputs.as_mut_ptr(),
                outputs.len(),
                stream,
                ptr::null_mut(),
            )
        };
        check(self.functions(), "it could not be run", status)
    }

    fn functions(&self) -> &Functions {
        self.library.functions()
    }

    fn count(
        &self,
        what: &str,
        function: unsafe extern "C" fn(RawContainer, *mut usize) -> Status,
    ) -> Result<usize> {
        let mut count = 0;
        forget_last_error();
        // SAFETY: the container is alive, and there is a place for the number.
        let status = unsafe { function(self.raw, &raw mut count) };
        check(self.functions(), what, status).map(|()| count)
    }

    fn number<T>(
        &self,
        function: Option<unsafe extern "C" fn(RawContainer, usize, *mut T) -> Status>,
        index: usize,
        mut place: T,
    ) -> Result<Option<T>> {
        let Some(function) = function else { return Ok(None) };
        forget_last_error();
        // SAFETY: the container is alive, and has so many constants; there is a place for the number.
        let status = unsafe { function(self.raw, index, &raw mut place) };
        check(self.functions(), "a constant could not be described", status).map(|()| Some(place))
    }

    fn text(
        &self,
        what: &str,
        function: unsafe extern "C" fn(RawContainer, usize, *mut *const c_char) -> Status,
        index: usize,
    ) -> Result<CString> {
        let mut text = ptr::null();
        forget_last_error();
        // SAFETY: as for `number`.
        let status = unsafe { function(self.raw, index, &raw mut text) };
        check(self.functions(), what, status)?;
        if text.is_null() {
            return Ok(CString::default());
        }
        // SAFETY: the container's texts are NUL-terminated and live as long as it.
        Ok(unsafe { CStr::from_ptr(text) }.to_owned())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // SAFETY: made by `create`, and deleted once. A failure leaves nothing to do.
        let _ = unsafe { (self.functions().delete)(self.raw) };
    }
}

/// So that a reason that the shim library leaves behind is this call's.
fn forget_last_error() {
    // SAFETY: takes any number; null is no text.
    unsafe { et_set_last_error(ET_OK, ptr::null()) };
}

fn check(functions: &Functions, what: &str, status: Status) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(failure(functions, what)) }
}

/// What the container says of its failure, and what the shim library said before.
#[cold]
fn failure(functions: &Functions, what: &str) -> Error {
    let mut own = ptr::null();
    if let Some(last_error) = functions.last_error {
        // SAFETY: there is a place for the text.
        unsafe { last_error(&raw mut own) };
    }
    let own = if own.is_null() {
        String::new()
    } else {
        // SAFETY: a NUL-terminated text of this thread, until its next failure.
        unsafe { CStr::from_ptr(own) }.to_string_lossy().trim().to_owned()
    };
    // SAFETY: both belong to this thread, and the text is copied before anything else is called.
    let (code, reason) = unsafe {
        (et_last_error_code(), CStr::from_ptr(et_last_error_message()).to_string_lossy().into_owned())
    };
    let mut message = format!("the compiled model failed: {what}");
    for part in [own.as_str(), reason.as_str()] {
        if !part.is_empty() {
            message = format!("{message}: {part}");
        }
    }
    let code = match code {
        ET_OK if own.contains("out of memory") => ET_ERROR_MEMORY_ALLOCATION_FAILED,
        ET_OK => ET_ERROR_INTERNAL,
        code => code,
    };
    Error::new(code, message)
}
