//! What the tests of the core share: loading through the C ABI, and two kernels to run programs with.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub mod counting;
pub mod fake;
pub mod made;
pub mod random;

extern crate executorch_core as _;

use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::kernel::*;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::registration::*;
use executorch_abi::value::et_value_t;
use executorch_abi::{Args, Error, Result};
use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Once;

/// The committed programs, and those of the folder with larger ones where it exists.
pub fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("tests/programs"), root.join("../../../shared/models")];
    let mut found: Vec<PathBuf> = folders
        .iter()
        .filter_map(|f| std::fs::read_dir(f).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "pte"))
        .collect();
    found.sort();
    assert!(found.len() >= 7, "the committed programs are missing");
    found
}

/// A committed file.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// A program's handle, released when dropped.
pub struct Program(pub *mut et_program_t);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the handle is owned.
        unsafe { et_program_release(self.0) }
    }
}

/// A method's handle, released when dropped.
pub struct Method(pub *mut et_method_t);

impl Drop for Method {
    fn drop(&mut self) {
        // SAFETY: the handle is owned.
        unsafe { et_method_release(self.0) }
    }
}

fn empty_loader() -> et_data_loader_t {
    et_data_loader_t {
        struct_size: 0,
        reserved: 0,
        user_data: ptr::null_mut(),
        load: None,
        load_into: None,
        size: None,
        destroy: None,
    }
}

/// Opens a file.
pub fn open(path: &Path, mode: et_load_mode_t) -> Result<et_data_loader_t> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut loader = empty_loader();
    // SAFETY: a NUL-terminated path and a place for the loader.
    Error::check(unsafe { et_data_loader_open_file(path.as_ptr(), mode, &mut loader) })?;
    Ok(loader)
}

fn load(loader: et_data_loader_t) -> Result<Program> {
    let mut program = ptr::null_mut();
    // SAFETY: the loader is given away; a place for the handle.
    Error::check(unsafe { et_program_load(&loader, &mut program) })?;
    Ok(Program(program))
}

/// Loads a program from a file.
pub fn load_file(path: &Path) -> Result<Program> {
    load(open(path, ET_LOAD_MMAP)?)
}

/// Bytes at an address that the runtime accepts.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// A copy of bytes, aligned.
pub struct Aligned {
    lines: Vec<Line>,
    size: usize,
}

impl Aligned {
    /// Copies bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut lines = vec![Line([0; 64]); bytes.len().div_ceil(64)];
        for (line, chunk) in lines.iter_mut().zip(bytes.chunks(64)) {
            line.0[..chunk.len()].copy_from_slice(chunk);
        }
        Self { lines, size: bytes.len() }
    }

    fn loader(&self) -> Result<et_data_loader_t> {
        let buffer = et_buffer_t {
            data: self.lines.as_ptr().cast(),
            size: self.size,
            free: None,
            context: ptr::null_mut(),
        };
        let mut loader = empty_loader();
        // SAFETY: a valid buffer and a place for the loader.
        Error::check(unsafe { et_data_loader_from_buffer(&buffer, &mut loader) })?;
        Ok(loader)
    }
}

/// Loads a program from bytes that outlive it.
pub fn load_bytes(bytes: &Aligned) -> Result<Program> {
    load(bytes.loader()?)
}

/// External data, released when dropped.
pub struct DataMap(Box<et_data_map_t>);

impl DataMap {
    /// Loads a `.ptd`.
    pub fn open(path: &Path) -> Self {
        Self::load(open(path, ET_LOAD_MMAP).unwrap()).unwrap()
    }

    /// Reads a `.ptd` from bytes that outlive it.
    pub fn of_bytes(bytes: &Aligned) -> Result<Self> {
        Self::load(bytes.loader()?)
    }

    fn load(loader: et_data_loader_t) -> Result<Self> {
        let mut map = std::mem::MaybeUninit::uninit();
        // SAFETY: the loader is given away; the map is written on success.
        unsafe {
            Error::check(et_data_map_load(&loader, map.as_mut_ptr()))?;
            Ok(Self(Box::new(map.assume_init())))
        }
    }

    /// Options that pass the map to a method, which it outlives.
    pub fn options(&self) -> et_method_options_t {
        et_method_options_t { data_map: &*self.0, ..no_options() }
    }
}

impl Drop for DataMap {
    fn drop(&mut self) {
        if let Some(destroy) = self.0.destroy {
            // SAFETY: the map is owned.
            unsafe { destroy(self.0.user_data) }
        }
    }
}

/// Options that ask for nothing.
pub fn no_options() -> et_method_options_t {
    et_method_options_t {
        struct_size: size_of::<et_method_options_t>() as u32,
        reserved: 0,
        memory: ptr::null(),
        data_map: ptr::null(),
        tracer: ptr::null(),
        backend_options: ptr::null(),
        backend_options_count: 0,
        kernels: ptr::null(),
        kernel_count: 0,
    }
}

/// Loads a method.
pub fn load_method(program: &Program, name: &CStr) -> Result<Method> {
    load_method_with(program, name, ptr::null())
}

/// Loads a method with options.
pub fn load_method_with(
    program: &Program,
    name: &CStr,
    options: *const et_method_options_t,
) -> Result<Method> {
    let mut method = ptr::null_mut();
    // SAFETY: a live program, a NUL-terminated name, valid options, a place for the handle.
    Error::check(unsafe { et_program_load_method(program.0, name.as_ptr(), options, &mut method) })?;
    Ok(Method(method))
}

/// Runs a method.
pub fn execute(method: &Method) -> Result<()> {
    // SAFETY: a live method that this thread alone uses.
    Error::check(unsafe { et_method_execute(method.0) })
}

unsafe extern "C" fn elementwise(
    context: *mut et_kernel_context_t,
    args: *const *mut et_value_t,
    count: usize,
) -> et_error_t {
    // SAFETY: the runtime hands out a valid context.
    let is_add = unsafe { !(*context).user_data.is_null() };
    let run = || -> Result<()> {
        // SAFETY: the runtime's arguments are valid during the call.
        let args = unsafe { Args::new(args, count) };
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        let (x, y) = (a.data::<f32>()?, b.data::<f32>()?);
        let out_index = if is_add { 3 } else { 2 };
        if x.len() != y.len() {
            return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "the test's kernels do not broadcast"));
        }
        let results: Vec<f32> = x.iter().zip(y).map(|(x, y)| if is_add { x + y } else { x * y }).collect();
        // SAFETY: the inputs are not used from here on.
        let mut out = unsafe { args.out(out_index) }?;
        out.resize(a.sizes())?;
        out.data::<f32>()?.copy_from_slice(&results);
        Ok(())
    };
    run().map_or_else(|e| e.set_last(), |()| ET_OK)
}

/// Registers `aten::add.out` and `aten::mul.out` for float32 tensors of one shape.
pub fn register_kernels() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let kernel = |name: &'static CStr, signature: &'static CStr, is_add: bool| et_kernel_t {
            struct_size: size_of::<et_kernel_t>() as u32,
            flags: 0,
            name: name.as_ptr(),
            key: ptr::null(),
            signature: signature.as_ptr(),
            run: Some(elementwise),
            prepare: None,
            release: None,
            user_data: ptr::without_provenance_mut::<c_void>(usize::from(is_add)),
        };
        let table = Box::leak(Box::new([
            kernel(c"aten::add.out", c"TTS>T", true),
            kernel(c"aten::mul.out", c"TT>T", false),
        ]));
        let registration = registration();
        // SAFETY: the table is leaked.
        let code = unsafe { et_register_kernels(&registration, table.as_ptr(), table.len()) };
        assert_eq!(code, ET_OK);
    });
}

/// How the tests register.
pub fn registration() -> et_registration_t {
    et_registration_t {
        struct_size: size_of::<et_registration_t>() as u32,
        abi_major: ET_ABI_MAJOR,
        abi_minor: ET_ABI_MINOR,
        flags: 0,
        reserved: 0,
        component_name: c"tests".as_ptr(),
        component_version: c"0".as_ptr(),
    }
}
