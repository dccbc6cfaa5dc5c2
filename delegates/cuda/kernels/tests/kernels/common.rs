//! The emulated GPU, its memory, and the fixtures.

#[path = "../emulator/mod.rs"]
mod emulator;

use executorch_cuda_driver::{Cuda, Device, DeviceBuffer, Loader, StreamRef};
use executorch_cuda_kernels::CODE;
use std::ffi::c_void;
use std::path::Path;
use std::sync::OnceLock;

pub const DEVICE: Device = Device(0);

/// The emulated GPU's default stream.
pub fn gpu() -> StreamRef {
    static GPU: OnceLock<&'static Cuda> = OnceLock::new();
    let cuda = GPU.get_or_init(|| {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulator");
        let folder = emulator::build(&sources, Path::new(env!("CARGO_TARGET_TMPDIR")), "kernels");
        // SAFETY: every test begins here, so that no other thread reads the environment meanwhile.
        unsafe { std::env::set_var(CODE, folder.join("kernels.bin")) };
        Loader { folders: vec![folder], majors: vec![12] }.load().unwrap()
    });
    StreamRef::default_stream(cuda)
}

/// Plain numbers.
pub trait Plain: Copy + Default {}
impl Plain for u8 {}
impl Plain for i8 {}
impl Plain for u16 {}
impl Plain for u32 {}
impl Plain for i32 {}
impl Plain for f32 {}
impl Plain for i64 {}
impl Plain for u64 {}

fn bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// An array on the GPU.
pub struct Array(DeviceBuffer);

impl Array {
    pub fn new<T: Plain>(values: &[T]) -> Self {
        let mut buffer = DeviceBuffer::new(gpu().cuda(), DEVICE, size_of_val(values)).unwrap();
        buffer.write(bytes(values)).unwrap();
        Self(buffer)
    }

    pub fn zeros<T: Plain>(count: usize) -> Self {
        Self::new(&vec![T::default(); count])
    }

    pub fn read<T: Plain>(&self) -> Vec<T> {
        let mut values = vec![T::default(); self.0.len() / size_of::<T>()];
        // SAFETY: plain numbers have no padding, and any bytes are some number.
        let target = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), self.0.len()) };
        self.0.read(target).unwrap();
        values
    }

    pub fn at(&self) -> *const c_void {
        self.0.as_ptr()
    }

    pub fn at_mut(&self) -> *mut c_void {
        self.0.as_ptr()
    }
}

/// A fixture.
pub struct Case(serde_json::Value);

impl Case {
    pub fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.json"));
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    pub fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap()
    }

    /// Numbers, cut to the type's bits: floats stand there by their bits.
    pub fn array<T>(&self, key: &str, cut: fn(i64) -> T) -> Vec<T> {
        self.0[key].as_array().unwrap().iter().map(|number| cut(number.as_i64().unwrap())).collect()
    }

    pub fn u8(&self, key: &str) -> Array {
        Array::new(&self.array(key, |number| number as u8))
    }

    pub fn u16(&self, key: &str) -> Array {
        Array::new(&self.array(key, |number| number as u16))
    }

    pub fn floats(&self, key: &str) -> Vec<f32> {
        self.array(key, |number| f32::from_bits(number as u32))
    }
}

pub fn bf16(bits: u16) -> f64 {
    half::bf16::from_bits(bits).to_f64()
}

pub fn f16(bits: u16) -> f64 {
    half::f16::from_bits(bits).to_f64()
}
