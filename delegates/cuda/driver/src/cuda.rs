//! The process's CUDA: both libraries, checked against each other.

use crate::error::{Error, Missing, Result};
use crate::library::{Loaded, Wanted, file_of, find, visible};
use crate::sys::{self, Driver, Runtime, Status};
use std::ffi::{CStr, c_int};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Environment: folders, separated by `:`, in which `libcuda.so.1` and `libcudart.so.N` are looked for before anywhere else.
pub const FOLDERS: &str = "EXECUTORCH_CUDA_LIBRARIES";

/// The version of the CUDA train that this build is for, such as `12.6`; set by the build of a wheel from its row.
pub const BUILT_FOR: Option<&str> = option_env!("EXECUTORCH_CUDA_VERSION");

/// Where CUDA's installers put its libraries, on a desktop or server and on a Jetson.
const WELL_KNOWN: [&str; 4] = [
    "/usr/local/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
];

/// The majors of the runtime library that this code knows, the preferred one first.
const MAJORS: [u32; 2] = [13, 12];

/// Both libraries of CUDA, loaded and checked. Lives as long as the process.
#[derive(Debug)]
pub struct Cuda {
    driver: Driver,
    runtime: Runtime,
    driver_file: PathBuf,
    runtime_file: PathBuf,
    driver_version: u32,
    runtime_version: u32,
    /// Keep both loaded.
    _libraries: [Loaded; 2],
}

/// What to load; [`Loader::default`] is what [`Cuda::get`] uses.
#[derive(Debug, Clone)]
pub struct Loader {
    /// Folders to search first.
    pub folders: Vec<PathBuf>,
    /// The majors of the runtime library that are accepted, the preferred one first.
    pub majors: Vec<u32>,
}

impl Default for Loader {
    fn default() -> Self {
        let folders = std::env::var_os(FOLDERS)
            .map(|value| std::env::split_paths(&value).collect())
            .unwrap_or_default();
        Self { folders, majors: built_for().map_or_else(|| MAJORS.into(), |major| vec![major]) }
    }
}

/// The major of [`BUILT_FOR`].
pub fn built_for() -> Option<u32> {
    BUILT_FOR?.split('.').next()?.parse().ok()
}

static CUDA: OnceLock<&'static Cuda> = OnceLock::new();

impl Cuda {
    /// The process's CUDA, which is loaded by the first call that succeeds. A call after a failure tries again, so that a
    /// program may load CUDA's libraries itself in between. Costs an atomic load once loaded.
    ///
    /// A GPU need not be there: [`Device::count`](crate::Device::count) tells.
    #[inline]
    pub fn get() -> Result<&'static Self> {
        if let Some(cuda) = CUDA.get() { Ok(cuda) } else { Self::first() }
    }

    #[cold]
    fn first() -> Result<&'static Self> {
        static LOADING: Mutex<()> = Mutex::new(());
        let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cuda) = CUDA.get() {
            return Ok(cuda);
        }
        let cuda = Loader::default().load()?;
        Ok(CUDA.get_or_init(|| cuda))
    }

    /// The process's CUDA if it is loaded already.
    pub fn loaded() -> Option<&'static Self> {
        CUDA.get().copied()
    }

    /// The CUDA version that the driver supports: 12.6 is 12060.
    pub fn driver_version(&self) -> u32 {
        self.driver_version
    }

    /// The version of the runtime library: 12.6 is 12060.
    pub fn runtime_version(&self) -> u32 {
        self.runtime_version
    }

    /// The file of `libcuda.so.1`.
    pub fn driver_file(&self) -> &Path {
        &self.driver_file
    }

    /// The file of the runtime library.
    pub fn runtime_file(&self) -> &Path {
        &self.runtime_file
    }

    /// The driver's functions.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The runtime library's functions.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Fails if libraries loaded from now on would call another runtime library than this one, such as one of another major
    /// that the program loaded before with its functions visible to all. Two of them would not share streams' state or errors.
    pub fn check_visible(&self) -> Result<()> {
        let found = visible(c"cudaMalloc");
        let file = file_of(found);
        if found.is_null() || file.as_deref() == Some(self.runtime_file()) {
            return Ok(());
        }
        Err(Error::Unavailable(format!(
            "compiled models would call {} instead of {}: do not load another CUDA runtime library with RTLD_GLOBAL, \
             or use the wheel of its CUDA version",
            file.unwrap_or_default().display(),
            self.runtime_file.display()
        )))
    }

    /// Turns what a function of the runtime library returned into a result.
    #[inline]
    pub fn check(&self, function: &'static str, code: Status) -> Result<()> {
        if code == sys::SUCCESS { Ok(()) } else { Err(self.failure(function, code)) }
    }

    #[cold]
    fn failure(&self, function: &'static str, code: Status) -> Error {
        // SAFETY: both take any number and return static strings. The failure has been taken note of, so that the next
        // caller of cudaGetLastError, such as PyTorch, does not take it for its own.
        let (name, text) = unsafe {
            (self.runtime.last_error)();
            (text((self.runtime.error_name)(code)), text((self.runtime.error_text)(code)))
        };
        Error::Call { function, code, name, text }
    }

    /// [`Self::check`] for functions of the driver.
    #[inline]
    pub fn check_driver(&self, function: &'static str, code: Status) -> Result<()> {
        if code == sys::SUCCESS { Ok(()) } else { Err(driver_failure(&self.driver, function, code)) }
    }
}

#[cold]
fn driver_failure(driver: &Driver, function: &'static str, code: Status) -> Error {
    let ask = |get: unsafe extern "C" fn(Status, *mut *const std::ffi::c_char) -> Status| {
        let mut string = std::ptr::null();
        // SAFETY: takes any number, and leaves null or a static string.
        unsafe {
            get(code, &raw mut string);
            text(string)
        }
    };
    Error::Call { function, code, name: ask(driver.error_name), text: ask(driver.error_text) }
}

/// # Safety
/// Null, or a NUL-terminated string.
unsafe fn text(string: *const std::ffi::c_char) -> String {
    if string.is_null() {
        return "unknown error".into();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

impl Loader {
    /// Loads and checks both libraries. They stay loaded, and the little memory that tells of them is never freed: call
    /// [`Cuda::get`] unless libraries of one's own choice are needed.
    pub fn load(&self) -> Result<&'static Cuda> {
        let driver_library = self.driver()?;
        let driver = Driver::find(&driver_library.library)
            .map_err(|missing| incomplete(missing, &driver_library.path))?;
        let driver_version = version(|out| {
            // SAFETY: writes one number.
            unsafe { (driver.version)(out) }
        })
        .map_err(|code| driver_failure(&driver, "cuDriverGetVersion", code))?;
        let runtime_library = self.runtime(driver_version)?;
        let runtime = Runtime::find(&runtime_library.library)
            .map_err(|missing| incomplete(missing, &runtime_library.path))?;
        let runtime_version = version(|out| {
            // SAFETY: writes one number.
            unsafe { (runtime.version)(out) }
        })
        .map_err(|code| Error::Unavailable(format!("cudaRuntimeGetVersion failed with {code}")))?;
        self.check_versions(driver_version, runtime_version, &runtime_library.path)?;
        Ok(Box::leak(Box::new(Cuda {
            driver,
            runtime,
            driver_file: driver_library.path.clone(),
            runtime_file: runtime_library.path.clone(),
            driver_version,
            runtime_version,
            _libraries: [driver_library, runtime_library],
        })))
    }

    fn driver(&self) -> Result<Loaded> {
        // AOTInductor's libraries are linked to this name, and find it again when it is loaded.
        let wanted = Wanted { name: "libcuda.so.1", probe: c"cuDriverGetVersion", global: true };
        find(wanted, &self.folders, &WELL_KNOWN).map_err(|reason| {
            Error::Unavailable(format!(
                "the NVIDIA driver is missing: {reason}. Install the driver of the GPU (in a container, start it with \
                 access to the GPU, such as docker run --gpus all), or name the folder in {FOLDERS}"
            ))
        })
    }

    fn runtime(&self, driver_version: u32) -> Result<Loaded> {
        let mut reasons = Vec::new();
        // Where either would do, one that the driver is too old for is no choice.
        let usable =
            self.majors.iter().filter(|&&major| self.majors.len() == 1 || major <= driver_version / 1000);
        for major in usable {
            let name = format!("libcudart.so.{major}");
            match find(Wanted { name: &name, probe: c"cudaMalloc", global: true }, &self.folders, &WELL_KNOWN)
            {
                Ok(loaded) => return Ok(loaded),
                Err(reason) => reasons.push(reason),
            }
        }
        let package = match self.majors.first() {
            Some(12) => "nvidia-cuda-runtime-cu12",
            _ => "nvidia-cuda-runtime",
        };
        if reasons.is_empty() {
            return Err(too_old(driver_version, self.majors.iter().copied().min().unwrap_or_default()));
        }
        Err(Error::Unavailable(format!(
            "the CUDA runtime library is missing: {}. Install it with pip install {package}, or name its folder in \
             {FOLDERS}",
            reasons.join("; ")
        )))
    }

    fn check_versions(&self, driver: u32, runtime: u32, file: &Path) -> Result<()> {
        let major = runtime / 1000;
        if !self.majors.contains(&major) {
            let wanted: Vec<_> = self.majors.iter().map(ToString::to_string).collect();
            return Err(Error::Unavailable(format!(
                "{} is CUDA {}, but this build needs CUDA {}: install the wheel for CUDA {major}, or the runtime library \
                 of that version",
                file.display(),
                dotted(runtime),
                wanted.join(" or ")
            )));
        }
        if driver / 1000 < major { Err(too_old(driver, major)) } else { Ok(()) }
    }
}

fn too_old(driver: u32, major: u32) -> Error {
    let hint = if major > 12 && driver / 1000 == 12 {
        ", or use the wheel for CUDA 12 (its version ends in +cu126)"
    } else {
        ""
    };
    Error::Unavailable(format!(
        "the NVIDIA driver is too old: it supports CUDA {}, and CUDA {major}.0 or later is needed. Update the driver{hint}",
        dotted(driver)
    ))
}

fn incomplete(missing: Missing, file: &Path) -> Error {
    Error::Unavailable(format!(
        "{} has no function {}: it is too old or no CUDA library; {} of CUDA 12.0 or later is needed",
        file.display(),
        missing.symbol,
        missing.library
    ))
}

fn dotted(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn version(get: impl FnOnce(*mut c_int) -> Status) -> std::result::Result<u32, Status> {
    let mut number = 0;
    match get(&raw mut number) {
        sys::SUCCESS => Ok(u32::try_from(number).unwrap_or_default()),
        code => Err(code),
    }
}
