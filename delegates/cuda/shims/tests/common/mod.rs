//! Tensors through the exported functions, as a compiled model uses them.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every call gives handles of this library and arrays of their rank"
)]

use executorch_aoti_cuda_shims::symbols::{attributes::*, contents::*, create::*};
use executorch_aoti_cuda_shims::tensor::Tensor;
use std::ffi::{CStr, c_void};
use {executorch_core as _, executorch_extension_cuda as _};

pub const F32: i32 = 6;
pub const CPU: i32 = 0;
pub const CUDA: i32 = 1;

/// A handle, deleted when dropped.
pub struct Handle(pub *mut Tensor);

impl Drop for Handle {
    fn drop(&mut self) {
        assert_eq!(unsafe { aoti_torch_delete_tensor_object(self.0) }, 0);
    }
}

/// Calls with a place for a handle, which must be filled exactly if the call succeeds.
pub fn made(call: impl FnOnce(*mut *mut Tensor) -> u32) -> Result<Handle, (u32, String)> {
    let mut out = std::ptr::null_mut();
    match call(&raw mut out) {
        0 => {
            assert!(!out.is_null());
            Ok(Handle(out))
        }
        code => {
            assert!(out.is_null());
            Err((code, message()))
        }
    }
}

/// The thread's last message.
pub fn message() -> String {
    unsafe { CStr::from_ptr(executorch_abi::error::et_last_error_message()) }.to_string_lossy().into_owned()
}

pub fn empty(sizes: &[i64], strides: Option<&[i64]>, dtype: i32, kind: i32) -> Result<Handle, (u32, String)> {
    let strides = strides.map_or(std::ptr::null(), <[i64]>::as_ptr);
    made(|out| unsafe {
        aoti_torch_empty_strided(sizes.len() as i64, sizes.as_ptr(), strides, dtype, kind, 0, out)
    })
}

/// A tensor over an array, which must outlive it.
pub fn over<T>(data: &mut [T], sizes: &[i64], strides: &[i64], dtype: i32, kind: i32) -> Handle {
    let data = data.as_mut_ptr().cast();
    blob(data, sizes, Some(strides), 0, dtype, kind).unwrap()
}

pub fn blob(
    data: *mut c_void,
    sizes: &[i64],
    strides: Option<&[i64]>,
    offset: i64,
    dtype: i32,
    kind: i32,
) -> Result<Handle, (u32, String)> {
    let strides = strides.map_or(std::ptr::null(), <[i64]>::as_ptr);
    made(|out| unsafe {
        let rank = sizes.len() as i64;
        aoti_torch_create_tensor_from_blob(data, rank, sizes.as_ptr(), strides, offset, dtype, kind, 0, out)
    })
}

impl Handle {
    pub fn data(&self) -> *mut c_void {
        let mut data = std::ptr::null_mut();
        assert_eq!(unsafe { aoti_torch_get_data_ptr(self.0, &raw mut data) }, 0);
        data
    }

    pub fn number(&self, get: unsafe extern "C" fn(*mut Tensor, *mut i64) -> u32) -> i64 {
        let mut number = -7;
        assert_eq!(unsafe { get(self.0, &raw mut number) }, 0);
        number
    }

    pub fn code(&self, get: unsafe extern "C" fn(*mut Tensor, *mut i32) -> u32) -> i32 {
        let mut number = -7;
        assert_eq!(unsafe { get(self.0, &raw mut number) }, 0);
        number
    }

    pub fn numbers(&self, get: unsafe extern "C" fn(*mut Tensor, *mut *mut i64) -> u32) -> Vec<i64> {
        let mut numbers = std::ptr::null_mut();
        assert_eq!(unsafe { get(self.0, &raw mut numbers) }, 0);
        let rank = usize::try_from(self.number(aoti_torch_get_dim)).unwrap();
        unsafe { std::slice::from_raw_parts(numbers, rank) }.to_vec()
    }

    pub fn copy_from(&self, source: &Handle) -> Result<(), (u32, String)> {
        match unsafe { aoti_torch_copy_(self.0, source.0, 1) } {
            0 => Ok(()),
            code => Err((code, message())),
        }
    }

    pub fn duplicate(&self) -> Handle {
        made(|out| unsafe { aoti_torch_clone_preserve_strides(self.0, out) }).unwrap()
    }

    pub fn view(&self, sizes: &[i64], strides: &[i64], offset: i64) -> Result<Handle, (u32, String)> {
        let rank = sizes.len() as i64;
        made(|out| unsafe {
            aoti_torch__reinterpret_tensor(self.0, rank, sizes.as_ptr(), strides.as_ptr(), offset, out)
        })
    }

    /// The elements of a tensor on the host, wherever they lie, by their indices.
    pub fn elements<T: Copy>(&self) -> Vec<T> {
        let (sizes, strides) = (self.numbers(aoti_torch_get_sizes), self.numbers(aoti_torch_get_strides));
        let mut places = vec![0];
        for (size, stride) in sizes.iter().zip(strides) {
            places = places.iter().flat_map(|base| (0..*size).map(move |i| base + i * stride)).collect();
        }
        let data = self.data().cast::<T>();
        places.iter().map(|&place| unsafe { data.offset(place as isize).read() }).collect()
    }
}
