//! A compiled model's shared library: written to a private file, loaded, and its functions looked up.

use crate::shim::RawTensor;
use crate::{elf, promote};
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use libloading::os::unix::{Library as Handle, RTLD_LAZY, RTLD_LOCAL};
use std::ffi::{c_char, c_void};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

/// The status of a container's function; 0 is success.
pub type Status = i32;
/// A container.
pub type RawContainer = *mut c_void;

/// A constant, by the name that a function is to know it by.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// NUL-terminated.
    pub name: *const c_char,
    /// The tensor.
    pub handle: *mut RawTensor,
}

type Count = unsafe extern "C" fn(RawContainer, *mut usize) -> Status;
type Name = unsafe extern "C" fn(RawContainer, usize, *mut *const c_char) -> Status;

macro_rules! functions {
    (required { $($name:ident = $symbol:literal: $type:ty;)* } optional { $($maybe:ident = $wanted:literal: $kind:ty;)* }) => {
        /// The functions of a container's library.
        #[derive(Debug, Clone, Copy)]
        pub struct Functions {
            $(#[doc = concat!("`", $symbol, "`.")] pub $name: $type,)*
            $(#[doc = concat!("`", $wanted, "`.")] pub $maybe: Option<$kind>,)*
        }

        impl Functions {
            fn find(library: &Handle) -> Result<Self> {
                Ok(Self {
                    // SAFETY: declared as AOTInductor's header declares them; the library outlives the table.
                    $($name: *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }.map_err(|_| missing($symbol))?,)*
                    // SAFETY: as above.
                    $($maybe: unsafe { library.get(concat!($wanted, "\0").as_bytes()) }.ok().map(|found| *found),)*
                })
            }
        }
    };
}

functions! {
    required {
        create = "AOTInductorModelContainerCreateWithDevice":
            unsafe extern "C" fn(*mut RawContainer, usize, *const c_char, *const c_char) -> Status;
        delete = "AOTInductorModelContainerDelete": unsafe extern "C" fn(RawContainer) -> Status;
        input_count = "AOTInductorModelContainerGetNumInputs": Count;
        output_count = "AOTInductorModelContainerGetNumOutputs": Count;
        run = "AOTInductorModelContainerRun": unsafe extern "C" fn(
            RawContainer, *mut *mut RawTensor, usize, *mut *mut RawTensor, usize, *mut c_void, *mut c_void,
        ) -> Status;
    }
    optional {
        last_error = "AOTInductorGetLastError": unsafe extern "C" fn(*mut *const c_char) -> Status;
        load_blob = "AOTInductorModelUpdateConstantsFromBlob": unsafe extern "C" fn(RawContainer, *const u8) -> Status;
        constant_count = "AOTInductorModelContainerGetNumConstants": Count;
        constant_name = "AOTInductorModelContainerGetConstantName": Name;
        constant_model_name = "AOTInductorModelContainerGetConstantOriginalFQN": Name;
        constant_size = "AOTInductorModelContainerGetConstantDataSize":
            unsafe extern "C" fn(RawContainer, usize, *mut usize) -> Status;
        constant_dtype = "AOTInductorModelContainerGetConstantDtype":
            unsafe extern "C" fn(RawContainer, usize, *mut i32) -> Status;
        constant_is_folded = "AOTInductorModelContainerGetConstantFromFolded":
            unsafe extern "C" fn(RawContainer, usize, *mut bool) -> Status;
        extract = "AOTInductorModelContainerExtractConstantsMapEntries":
            unsafe extern "C" fn(RawContainer, *mut *const Pair, *mut usize, bool) -> Status;
        bind = "AOTInductorModelContainerUpdateUserManagedConstantBufferPairs":
            unsafe extern "C" fn(RawContainer, *const Pair, usize, bool, bool) -> Status;
    }
}

/// A loaded library. Closed when dropped: nothing of it may be used then.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    _handle: Handle,
}

impl Library {
    /// Loads a library from its bytes. Each call loads a library of its own, with its own static data.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        elf::check(bytes)?;
        promote::shims()?;
        // Only the owner may read it, and it is gone once it is loaded, or once that failed.
        let mut file = tempfile::Builder::new()
            .prefix(&format!("executorch-cuda-{}-", std::process::id()))
            .suffix(".so")
            .permissions(Permissions::from_mode(0o700))
            .tempfile()
            .map_err(|e| unwritable(&e))?;
        file.write_all(bytes).map_err(|e| unwritable(&e))?;
        let path = file.into_temp_path();
        // SAFETY: running the program's code is what the caller asked for; whoever loads a program trusts its maker.
        let handle = unsafe { Handle::open(Some(&*path), RTLD_LAZY | RTLD_LOCAL) };
        let handle = handle.map_err(|error| {
            let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Error::new(
                ET_ERROR_ACCESS_FAILED,
                format!(
                    "the compiled model cannot be loaded: {cause}. It was compiled on another system: it may need a newer \
                     libstdc++, or {} may not allow programs (set TMPDIR then)",
                    std::env::temp_dir().display()
                ),
            )
        })?;
        Ok(Self { functions: Functions::find(&handle)?, _handle: handle })
    }

    /// Its functions, for as long as it lives.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::new(
        ET_ERROR_ACCESS_FAILED,
        format!(
            "the compiled model cannot be written to a temporary file in {}: {error}; set TMPDIR to a folder with room",
            std::env::temp_dir().display()
        ),
    )
}

fn missing(symbol: &str) -> Error {
    Error::new(
        ET_ERROR_INVALID_PROGRAM,
        format!("the compiled model has no function {symbol}: it is none of AOTInductor's"),
    )
}
