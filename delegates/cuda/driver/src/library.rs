//! Finding a shared library and keeping it.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, OsStr};
use std::path::{Path, PathBuf};

/// A library that stays loaded, and the file that it came from.
#[derive(Debug)]
pub struct Loaded {
    pub library: Library,
    /// The path that the loader tells, empty if it tells none.
    pub path: PathBuf,
}

/// A library to look for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The SONAME.
    pub name: &'a str,
    /// A function of it, to find its file.
    pub probe: &'static CStr,
    /// Whether libraries that are loaded later shall find its functions.
    pub global: bool,
}

/// Loads the library from the first place that has it; else says what was tried. A file that is there but cannot be loaded ends
/// the search of explicit folders with its error, because the user asked for it.
pub fn find(wanted: Wanted<'_>, folders: &[PathBuf], well_known: &[&str]) -> Result<Loaded, String> {
    let mut tried = Vec::new();
    for folder in folders {
        let path = folder.join(wanted.name);
        if path.is_file() {
            return open(wanted, path.as_os_str(), 0)
                .map_err(|reason| format!("cannot load {}: {reason}", path.display()));
        }
        tried.push(path.display().to_string());
    }
    if let Ok(loaded) = open(wanted, wanted.name.as_ref(), libc::RTLD_NOLOAD) {
        return Ok(loaded);
    }
    match open(wanted, wanted.name.as_ref(), 0) {
        Ok(loaded) => return Ok(loaded),
        Err(reason) => tried.push(format!("the loader's search ({reason})")),
    }
    for folder in well_known {
        let path = Path::new(folder).join(wanted.name);
        if !path.is_file() {
            tried.push(path.display().to_string());
            continue;
        }
        match open(wanted, path.as_os_str(), 0) {
            Ok(loaded) => return Ok(loaded),
            Err(reason) => tried.push(format!("{} ({reason})", path.display())),
        }
    }
    Err(format!("{} was not found; looked for: {}", wanted.name, tried.join(", ")))
}

fn open(wanted: Wanted<'_>, name: &OsStr, extra: i32) -> Result<Loaded, String> {
    let scope = if wanted.global { RTLD_GLOBAL } else { RTLD_LOCAL };
    // SAFETY: CUDA's libraries, or what the user put in their place, may run initialisers; they demand nothing.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | scope | extra) }.map_err(|error| {
        let text = error.to_string();
        // The loader's own text without the crate's words around it.
        std::error::Error::source(&error).map_or(text, ToString::to_string)
    })?;
    let path = origin(&library, wanted.probe).unwrap_or_default();
    Ok(Loaded { library, path })
}

/// The file that a function of the library lies in.
fn origin(library: &Library, probe: &CStr) -> Option<PathBuf> {
    // SAFETY: the address is only looked at.
    let address = unsafe { library.get::<*mut libc::c_void>(probe.to_bytes_with_nul()) }.ok()?;
    file_of(*address)
}

/// The file of the library that an address lies in.
#[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the address is looked up, not followed")]
pub fn file_of(address: *const libc::c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable, and dladdr accepts any address.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: zeroed, and filled by dladdr.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gives a NUL-terminated string of the loaded library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(name.to_string_lossy().into_owned()))
}

/// The address that libraries loaded from now on find for a name, null if they find none. The program's own scope is asked,
/// not the caller's (`RTLD_DEFAULT`), which has what the caller's library is linked to besides.
pub fn visible(symbol: &CStr) -> *const libc::c_void {
    let program = Library::this();
    // SAFETY: the address is only compared.
    unsafe { program.get::<*const libc::c_void>(symbol.to_bytes_with_nul()) }
        .map_or(std::ptr::null(), |found| *found)
}
