//! The device that every machine has (`tests/device/fake.c`), and tensors in its memory.

use executorch_abi::device::*;
use executorch_abi::tensor::*;
use executorch_abi::value::et_value_t;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, CString, c_int, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What the device did since the process started: `fake_counts_t`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub allocations: i64,
    pub alive: i64,
    pub bytes: i64,
    pub to_device: i64,
    pub to_host: i64,
    pub on_device: i64,
    pub synchronized: i64,
    pub bad_frees: i64,
    pub runs: i64,
    pub handles: i64,
}

/// Compiles the device with some of its macros set and loads it, for the rest of the process.
pub fn load(name: &str, macros: &[&str]) -> *mut c_void {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libfake_{name}_{}.so", std::process::id()));
    let status = Command::new("cc")
        .args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"])
        .args(macros)
        .arg("-I")
        .arg(root.join("../abi/include"))
        .arg(root.join("tests/device/fake.c"))
        .arg("-o")
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let file = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library's constructor registers what it has, and does nothing else.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    // SAFETY: a failed dlopen leaves a message.
    assert!(!handle.is_null(), "{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
    std::fs::remove_file(path).unwrap();
    handle
}

struct Library(*mut c_void);

// SAFETY: the handle is only looked up in, which may be done from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

fn symbol(name: &CStr) -> *mut c_void {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| Library(load("device", &[])));
    // SAFETY: a live handle.
    let symbol = unsafe { libc::dlsym(library.0, name.as_ptr()) };
    assert!(!symbol.is_null());
    symbol
}

/// The device, for one test at a time. When it ends, nothing may be left of the device's memory.
pub struct Fake(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Fake {
    /// Waits for the device.
    pub fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let fake = Self(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        fake.fail_allocation(-1);
        fake.fail_copy(-1);
        fake
    }

    /// What it did.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        // SAFETY: the symbol is a function of this type.
        unsafe {
            let read: extern "C" fn(*mut Counts) = std::mem::transmute(symbol(c"fake_counts"));
            read(&mut counts);
        }
        counts
    }

    /// Lets the allocation after `skipped` more fail; -1 for none.
    pub fn fail_allocation(&self, skipped: c_int) {
        // SAFETY: the symbol is a function of this type.
        unsafe {
            std::mem::transmute::<*mut c_void, extern "C" fn(c_int)>(symbol(c"fake_fail_allocation"))(skipped)
        }
    }

    /// Lets the copy after `skipped` more fail; -1 for none.
    pub fn fail_copy(&self, skipped: c_int) {
        // SAFETY: the symbol is a function of this type.
        unsafe {
            std::mem::transmute::<*mut c_void, extern "C" fn(c_int)>(symbol(c"fake_fail_copy"))(skipped)
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let counts = self.counts();
        if !std::thread::panicking() {
            assert_eq!(
                (counts.alive, counts.bytes, counts.bad_frees, counts.handles),
                (0, 0, 0, 0),
                "{counts:?}"
            );
        }
    }
}

/// The registered allocator of CUDA memory.
pub fn allocator() -> &'static et_device_allocator_t {
    // SAFETY: a registered table lives as long as the process.
    unsafe { et_device_allocator_find(ET_DEVICE_CUDA).as_ref() }.unwrap()
}

/// Memory of a device, freed when dropped.
pub struct Memory {
    /// Its address.
    pub data: *mut c_void,
    /// Its bytes.
    pub size: usize,
    /// Its device.
    pub index: i8,
}

impl Memory {
    /// Allocates it.
    pub fn new(size: usize, index: i8) -> Result<Self> {
        let mut data = ptr::null_mut();
        let table = allocator();
        // SAFETY: a registered allocator obeys the ABI; a place for the address.
        Error::check(unsafe { table.allocate.unwrap()(table.user_data, size, 64, index, &mut data) })?;
        Ok(Self { data, size, index })
    }

    /// Memory that holds some numbers.
    pub fn of(values: &[f32], index: i8) -> Self {
        let memory = Self::new(size_of_val(values), index).unwrap();
        let table = allocator();
        // SAFETY: both hold as many bytes.
        let code = unsafe {
            table.copy_from_host.unwrap()(
                table.user_data,
                memory.data,
                values.as_ptr().cast(),
                memory.size,
                index,
            )
        };
        Error::check(code).unwrap();
        memory
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let table = allocator();
        // SAFETY: allocated by `new`, and freed once.
        unsafe { table.deallocate.unwrap()(table.user_data, self.data, self.index) }
    }
}

/// The numbers in a device's memory.
pub fn numbers(data: *const c_void, count: usize, index: i8) -> Result<Vec<f32>> {
    let mut values = vec![0_f32; count];
    let table = allocator();
    // SAFETY: the vector holds `count` numbers; the allocator checks the device's side.
    let code = unsafe {
        table.copy_to_host.unwrap()(table.user_data, values.as_mut_ptr().cast(), data, count * 4, index)
    };
    Error::check(code)?;
    Ok(values)
}

/// A float32 tensor of two dimensions over memory of somebody else.
pub struct Matrix {
    sizes: [i32; 2],
    strides: [i32; 2],
    order: [u8; 2],
    data: *mut c_void,
    device: (u8, i8),
}

impl Matrix {
    /// A tensor over memory of the host.
    pub fn host(rows: i32, values: &mut [f32]) -> Self {
        Self::new(rows, values.as_mut_ptr().cast(), (ET_DEVICE_CPU, 0))
    }

    /// A tensor over memory of a device.
    pub fn device(rows: i32, memory: &Memory) -> Self {
        Self::new(rows, memory.data, (ET_DEVICE_CUDA, memory.index))
    }

    /// A tensor of `rows` times 4 elements at an address, said to lie on a device.
    pub fn new(rows: i32, data: *mut c_void, device: (u8, i8)) -> Self {
        Self { sizes: [rows, 4], strides: [4, 1], order: [0, 1], data, device }
    }

    /// Gives it to a method.
    pub fn set(&mut self, method: &super::Method, index: usize) -> Result<()> {
        let numel = self.sizes.iter().product::<i32>() as u64;
        let mut tensor = et_tensor_t {
            data: self.data,
            sizes: self.sizes.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            dim_order: self.order.as_mut_ptr(),
            numel,
            capacity_bytes: numel * 4,
            struct_size: size_of::<et_tensor_t>() as u16,
            rank: 2,
            dtype: ET_DTYPE_FLOAT32,
            dynamism: ET_DYNAMISM_STATIC,
            device_type: self.device.0,
            device_index: self.device.1,
            flags: 0,
            user_data: ptr::null_mut(),
        };
        let value = et_value_t::tensor(&mut tensor);
        // SAFETY: a live method, and a whole tensor.
        Error::check(unsafe { executorch_abi::method::et_method_set_input(method.0, index, &value) })
    }
}
