//! NVRTC, loaded from a folder.

use crate::source;
use anyhow::{Context, Result, bail};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

type Program = *mut c_void;
type Status = c_int;

/// Options of every compilation.
pub const OPTIONS: [&str; 2] = ["--std=c++17", "--device-as-default-execution-space"];

/// The compiler.
#[derive(Debug)]
pub struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    log: Output,
    cubin: Output,
    ptx: Output,
    error: unsafe extern "C" fn(Status) -> *const c_char,
    version: (u32, u32),
    /// Keep both loaded.
    _libraries: [Library; 2],
}

/// A pair of functions: the size of something of a program, and its bytes.
#[derive(Debug, Clone, Copy)]
struct Output {
    size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    get: unsafe extern "C" fn(Program, *mut c_char) -> Status,
}

impl Nvrtc {
    /// Loads `libnvrtc.so.N` of a version of CUDA, such as `12.6`, and what it needs, from a folder.
    pub fn load(folder: &Path, version: &str) -> Result<Self> {
        let major = version.split('.').next().unwrap_or(version);
        let open = |name: String| {
            let path = folder.join(name);
            // SAFETY: NVIDIA's libraries; their initialisers demand nothing.
            unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }
                .with_context(|| format!("cannot load {}", path.display()))
        };
        // NVRTC looks for it by its name alone, and finds the one that is loaded.
        let builtins = open(format!("libnvrtc-builtins.so.{version}"))?;
        let library = open(format!("libnvrtc.so.{major}"))?;
        // SAFETY: declared as in nvrtc.h, which has not changed since version 11.
        unsafe {
            let version =
                symbol::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status>(&library, c"nvrtcVersion")?;
            let (mut major, mut minor) = (0, 0);
            version(&raw mut major, &raw mut minor);
            let output = |size, get| -> Result<Output> {
                Ok(Output { size: symbol(&library, size)?, get: symbol(&library, get)? })
            };
            Ok(Self {
                create: symbol(&library, c"nvrtcCreateProgram")?,
                compile: symbol(&library, c"nvrtcCompileProgram")?,
                destroy: symbol(&library, c"nvrtcDestroyProgram")?,
                log: output(c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?,
                cubin: output(c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN")?,
                ptx: output(c"nvrtcGetPTXSize", c"nvrtcGetPTX")?,
                error: symbol(&library, c"nvrtcGetErrorString")?,
                version: (u32::try_from(major)?, u32::try_from(minor)?),
                _libraries: [builtins, library],
            })
        }
    }

    /// Its version, such as 12 and 6.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The kernels' machine code for an architecture.
    pub fn cubin(&self, architecture: u32) -> Result<Vec<u8>> {
        self.compile_for(&format!("sm_{architecture}"), self.cubin)
    }

    /// The kernels' PTX for an architecture, with the NUL byte that ends it.
    pub fn ptx(&self, architecture: u32) -> Result<Vec<u8>> {
        self.compile_for(&format!("compute_{architecture}"), self.ptx)
    }

    fn compile_for(&self, architecture: &str, output: Output) -> Result<Vec<u8>> {
        let (names, texts) = included()?;
        let (name, text) = (CString::new(source::PROGRAM.0)?, CString::new(source::PROGRAM.1)?);
        let (names, texts) = (pointers(&names), pointers(&texts));
        let mut options: Vec<String> = OPTIONS.iter().map(|&option| option.into()).collect();
        options.push(format!("--gpu-architecture={architecture}"));
        let options: Vec<CString> = options.into_iter().map(CString::new).collect::<Result<_, _>>()?;
        let options = pointers(&options);
        let mut program = std::ptr::null_mut();
        let count = c_int::try_from(names.len())?;
        // SAFETY: all strings are NUL-terminated and live through the call; the arrays have as many elements as is said.
        let code = unsafe {
            (self.create)(
                &raw mut program,
                text.as_ptr(),
                name.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        self.check("nvrtcCreateProgram", code)?;
        let program = Owned { nvrtc: self, program };
        // SAFETY: as above.
        let code =
            unsafe { (self.compile)(program.program, c_int::try_from(options.len())?, options.as_ptr()) };
        if code != 0 {
            let log = program.bytes(self.log).unwrap_or_default();
            bail!("NVRTC cannot compile the kernels for {architecture}:\n{}", String::from_utf8_lossy(&log));
        }
        program.bytes(output)
    }

    fn check(&self, function: &str, code: Status) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: takes any number and returns a static string.
        let text = unsafe { CStr::from_ptr((self.error)(code)) };
        bail!("{function} failed: {}", text.to_string_lossy())
    }
}

/// # Safety
/// The symbol has the type `T`.
unsafe fn symbol<T: Copy>(library: &Library, name: &CStr) -> Result<T> {
    // SAFETY: promised by the caller.
    let symbol = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    Ok(*symbol.with_context(|| format!("libnvrtc has no {}", name.to_string_lossy()))?)
}

/// A program that is destroyed at its end.
struct Owned<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Owned<'_> {
    fn bytes(&self, output: Output) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program lives; writes one number.
        self.nvrtc.check("nvrtcGet…Size", unsafe { (output.size)(self.program, &raw mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the program lives, and there is room for as many bytes as it said.
        self.nvrtc.check("nvrtcGet…", unsafe { (output.get)(self.program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `nvrtcCreateProgram`, and destroyed once.
        unsafe { (self.nvrtc.destroy)(&raw mut self.program) };
    }
}

type Strings = Vec<CString>;

fn included() -> Result<(Strings, Strings)> {
    let strings = |pick: fn(&(&'static str, &'static str)) -> &'static str| -> Result<Strings> {
        Ok(source::INCLUDED.iter().map(|file| CString::new(pick(file))).collect::<Result<_, _>>()?)
    };
    Ok((strings(|file| file.0)?, strings(|file| file.1)?))
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).collect()
}
