//! Leaving a compiled model whose check failed.
//!
//! AOTInductor's code calls `aoti_torch_check` and goes on as if the check held, unless the call does not return. Ending the
//! process is no answer for a library in somebody else's. The model is C++ and its container catches C++ exceptions at each of
//! its functions, so one is thrown: a `std::runtime_error`, made with the functions of the C++ library that the model itself
//! needs and has loaded. The container returns an error with the message then, its locals are cleaned up, and later calls work.
//!
//! Only where no C++ library is loaded, which no caller compiled by a C++ compiler can bring about, the process ends.

use std::ffi::{CStr, c_char, c_void};

type Allocate = unsafe extern "C" fn(size: usize) -> *mut c_void;
type Construct = unsafe extern "C" fn(this: *mut c_void, text: *const c_char);
type Destroy = unsafe extern "C" fn(this: *mut c_void);
type Throw = unsafe extern "C-unwind" fn(object: *mut c_void, kind: *const c_void, destroy: Destroy) -> !;

/// What throwing takes, by the names of the Itanium C++ ABI.
#[derive(Clone, Copy)]
pub struct Thrower {
    allocate: Allocate,
    construct: Construct,
    destroy: Destroy,
    kind: *const c_void,
    throw: Throw,
}

impl Thrower {
    /// The functions of the process's C++ library, if one is loaded.
    pub fn find() -> Option<Self> {
        // Visible to all, or loaded as some library's private dependency.
        let libraries = [None, Some(c"libstdc++.so.6"), Some(c"libc++.so.1")];
        libraries.into_iter().find_map(|library| Self::in_library(handle(library)?))
    }

    fn in_library(library: *mut c_void) -> Option<Self> {
        let find = |name: &CStr| {
            // SAFETY: a lookup in a library that is loaded.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        let (allocate, throw) = (find(c"__cxa_allocate_exception")?, find(c"__cxa_throw")?);
        let (construct, destroy) = (find(c"_ZNSt13runtime_errorC1EPKc")?, find(c"_ZNSt13runtime_errorD1Ev")?);
        let kind = find(c"_ZTISt13runtime_error")?;
        // SAFETY: the C++ ABI defines these functions' types by their names.
        unsafe {
            Some(Self {
                allocate: std::mem::transmute::<*mut c_void, Allocate>(allocate),
                construct: std::mem::transmute::<*mut c_void, Construct>(construct),
                destroy: std::mem::transmute::<*mut c_void, Destroy>(destroy),
                kind,
                throw: std::mem::transmute::<*mut c_void, Throw>(throw),
            })
        }
    }

    /// Throws `std::runtime_error(text)`.
    ///
    /// # Safety
    /// All frames between this one and a C++ frame that catches have nothing to drop and may be unwound.
    pub unsafe fn throw(self, text: *const c_char) -> ! {
        /// `sizeof(std::runtime_error)` in libstdc++ and libc++: a table and a shared string.
        const SIZE: usize = 2 * size_of::<usize>();
        // SAFETY: constructed in the memory that the C++ library gives for exceptions, and thrown once; the rest is promised.
        unsafe {
            let object = (self.allocate)(SIZE);
            (self.construct)(object, text);
            (self.throw)(object, self.kind, self.destroy)
        }
    }
}

/// A handle to search: of all visible libraries, or of one that is loaded.
fn handle(library: Option<&CStr>) -> Option<*mut c_void> {
    let Some(name) = library else { return Some(libc::RTLD_DEFAULT) };
    // SAFETY: loads nothing.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}
