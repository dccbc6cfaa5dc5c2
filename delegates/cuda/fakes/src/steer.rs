//! The test's side of the libraries' `fake_…` functions.

use crate::fake::Code;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The folder of the fake libraries.
pub fn folder() -> &'static Path {
    Path::new(env!("FAKES"))
}

/// The fake libraries, in this process, for one test at a time.
pub struct Fakes {
    library: Library,
    _turn: MutexGuard<'static, ()>,
}

/// What the device holds, but for modules: a library that has thread-local data gives its own back when the thread ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// Blocks of memory.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Streams.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Graphs and their executable forms.
    pub graphs: u64,
}

#[derive(Clone, Copy)]
struct Library(*mut c_void);

// SAFETY: a handle of the dynamic linker, which any thread may use.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

static TURN: Mutex<()> = Mutex::new(());
static LIBRARY: OnceLock<Library> = OnceLock::new();

fn open(name: &str) -> *mut c_void {
    let path = CString::new(folder().join(name).display().to_string()).unwrap_or_default();
    // SAFETY: a library without initialisers that demand anything.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    assert!(!handle.is_null(), "{path:?} cannot be loaded");
    handle
}

impl Fakes {
    /// Loads the driver and the runtime of CUDA 13 if they are not there yet, waits for other tests of this process, and
    /// forgets what they planned.
    pub fn load() -> Self {
        Self::load_major(13)
    }

    /// [`load`](Self::load) with the runtime of CUDA 12 or 13. A process has one.
    pub fn load_major(major: u32) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let library = *LIBRARY.get_or_init(|| {
            let library = Library(open("libcuda.so.1"));
            open(&format!("libcudart.so.{major}"));
            library
        });
        let fakes = Self { library, _turn: turn };
        fakes.unwatch();
        fakes
    }

    fn function(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle that is never closed, and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.library.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?} is missing");
        address
    }

    /// Lets the `at`-th call from now on of a function fail with a code (1 is the next call); of any function if the name is
    /// empty.
    pub fn fail(&self, function: &str, at: u64, code: Code) {
        // SAFETY: declared so by the library; here and below.
        let fail: unsafe extern "C" fn(*const c_char, u64, Code) =
            unsafe { std::mem::transmute(self.function(c"fake_fail")) };
        // SAFETY: a NUL-terminated name; here and below.
        unsafe { fail(name(function).as_ptr(), at, code) };
    }

    /// Counts the calls of each function from now on.
    pub fn watch(&self) {
        self.call(c"fake_watch");
    }

    /// Counts them no more, and lets none fail.
    pub fn unwatch(&self) {
        self.call(c"fake_unwatch");
    }

    /// Calls of a function since [`watch`](Self::watch); of all functions since the start if the name is empty.
    pub fn calls(&self, function: &str) -> u64 {
        // SAFETY: as above.
        let calls: unsafe extern "C" fn(*const c_char) -> u64 =
            unsafe { std::mem::transmute(self.function(c"fake_calls")) };
        // SAFETY: as above.
        unsafe { calls(name(function).as_ptr()) }
    }

    /// Sets what the machine has; see the library's `fake_set`.
    pub fn set(&self, what: &str, value: i64) {
        // SAFETY: as above.
        let set: unsafe extern "C" fn(*const c_char, i64) =
            unsafe { std::mem::transmute(self.function(c"fake_set")) };
        // SAFETY: as above.
        unsafe { set(name(what).as_ptr(), value) };
    }

    /// How many there are of a kind; see the library's `fake_live`.
    pub fn count(&self, kind: &str) -> u64 {
        // SAFETY: as above.
        let live: unsafe extern "C" fn(*const c_char) -> u64 =
            unsafe { std::mem::transmute(self.function(c"fake_live")) };
        // SAFETY: as above.
        unsafe { live(name(kind).as_ptr()) }
    }

    /// What the device holds, once all that was enqueued has run.
    pub fn live(&self) -> Live {
        self.finish();
        Live {
            blocks: self.count("blocks"),
            bytes: self.count("bytes"),
            streams: self.count("streams"),
            events: self.count("events"),
            graphs: self.count("graphs") + self.count("executables"),
        }
    }

    /// Runs what was enqueued, as `cudaDeviceSynchronize`.
    pub fn finish(&self) {
        // SAFETY: as above.
        let wait: unsafe extern "C" fn() -> Code =
            unsafe { std::mem::transmute(self.function(c"cudaDeviceSynchronize")) };
        // SAFETY: takes nothing.
        unsafe { wait() };
    }

    /// What was done that a GPU would not survive: uses of freed memory, and the like.
    pub fn faults(&self) -> Vec<String> {
        // SAFETY: as above.
        let fault: unsafe extern "C" fn(usize, *mut c_char, usize) -> usize =
            unsafe { std::mem::transmute(self.function(c"fake_fault")) };
        let mut text = [0_u8; 256];
        (0..)
            .map_while(|index| {
                // SAFETY: the size is said.
                let length = unsafe { fault(index, text.as_mut_ptr().cast(), text.len()) };
                (length > 0).then(|| String::from_utf8_lossy(&text[..length]).into_owned())
            })
            .collect()
    }

    /// Forgets the faults.
    pub fn forgive(&self) {
        self.call(c"fake_forgive");
    }

    fn call(&self, function: &CStr) {
        // SAFETY: as above.
        let call: unsafe extern "C" fn() = unsafe { std::mem::transmute(self.function(function)) };
        // SAFETY: takes nothing.
        unsafe { call() };
    }
}

fn name(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}
