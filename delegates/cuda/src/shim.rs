//! Tensors as compiled models see them: objects of `libaoti_cuda_shims.so.1`.

use executorch_abi::current_stream::{et_current_stream_clear, et_current_stream_get, et_current_stream_set};
use executorch_abi::error::{ET_ERROR_INTERNAL, et_error_t};
use executorch_abi::{Error, Result};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// A tensor of the shim library.
#[repr(C)]
#[derive(Debug)]
pub struct RawTensor {
    _opaque: [u8; 0],
}

/// `device_type` of tensors on the host and on a CUDA device.
const CPU: i32 = 0;
const CUDA: i32 = 1;

unsafe extern "C" {
    fn aoti_torch_create_tensor_from_blob(
        data: *mut c_void,
        ndim: i64,
        sizes: *const i64,
        strides: *const i64,
        storage_offset: i64,
        dtype: i32,
        device_type: i32,
        device_index: i32,
        out: *mut *mut RawTensor,
    ) -> et_error_t;
    fn aoti_torch_delete_tensor_object(tensor: *mut RawTensor) -> et_error_t;
    fn aoti_torch_get_data_ptr(tensor: *mut RawTensor, out: *mut *mut c_void) -> et_error_t;
    fn aoti_torch_get_dim(tensor: *mut RawTensor, out: *mut i64) -> et_error_t;
    fn aoti_torch_get_sizes(tensor: *mut RawTensor, out: *mut *mut i64) -> et_error_t;
    fn aoti_torch_get_strides(tensor: *mut RawTensor, out: *mut *mut i64) -> et_error_t;
    fn aoti_torch_get_dtype(tensor: *mut RawTensor, out: *mut i32) -> et_error_t;
    fn aoti_torch_get_device_type(tensor: *mut RawTensor, out: *mut i32) -> et_error_t;
    fn aoti_torch_copy_(to: *mut RawTensor, from: *mut RawTensor, non_blocking: i32) -> et_error_t;
}

/// The address of a function of the shim library, by which its file is found.
pub fn address() -> *const c_void {
    aoti_torch_get_data_ptr as *const c_void
}

/// A tensor, deleted when dropped.
#[derive(Debug)]
pub struct Tensor {
    raw: NonNull<RawTensor>,
}

// SAFETY: the shim library allows handles to be passed between threads; they are used by one at a time, which `&mut` and
// ownership ensure for what changes them, and nothing changes them through `&`.
unsafe impl Send for Tensor {}
// SAFETY: as above.
unsafe impl Sync for Tensor {}

/// What a tensor is like: element type, sizes and strides in elements.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// PyTorch's number of the element type.
    pub dtype: i32,
    /// The sizes, outermost first.
    pub sizes: &'a [i64],
    /// The strides in elements.
    pub strides: &'a [i64],
    /// The first element.
    pub data: *mut c_void,
    /// Whether it lies on a device.
    pub on_device: bool,
}

/// What memory a tensor is to view.
#[derive(Debug, Clone, Copy)]
pub struct Blob<'a> {
    /// The memory's start.
    pub data: *mut c_void,
    /// The sizes, outermost first.
    pub sizes: &'a [i64],
    /// As many strides in elements.
    pub strides: &'a [i64],
    /// The first element.
    pub offset: i64,
    /// PyTorch's number of the element type.
    pub dtype: i32,
    /// The device; none for the host's memory.
    pub device: Option<i32>,
}

impl Tensor {
    /// A view of memory that somebody else owns.
    ///
    /// # Safety
    /// The memory holds the elements as long as the tensor, and what the shim library makes of it, is used.
    pub unsafe fn over(blob: Blob<'_>) -> Result<Self> {
        let mut out = ptr::null_mut();
        let (kind, index) = blob.device.map_or((CPU, 0), |index| (CUDA, index));
        // SAFETY: the slices hold as many numbers as is said, and there is a place for the handle; the caller's promise.
        Error::check(unsafe {
            aoti_torch_create_tensor_from_blob(
                blob.data,
                blob.sizes.len() as i64,
                blob.sizes.as_ptr(),
                blob.strides.as_ptr(),
                blob.offset,
                blob.dtype,
                kind,
                index,
                &raw mut out,
            )
        })?;
        // SAFETY: given to this call just now.
        unsafe { Self::from_raw(out) }
    }

    /// Takes a handle over.
    ///
    /// # Safety
    /// `raw` is null, or a handle of the shim library that nobody else deletes.
    pub unsafe fn from_raw(raw: *mut RawTensor) -> Result<Self> {
        NonNull::new(raw)
            .map(|raw| Self { raw })
            .ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the compiled model gave no tensor"))
    }

    /// The handle, still owned.
    pub fn as_raw(&self) -> *mut RawTensor {
        self.raw.as_ptr()
    }

    /// Gives the handle away.
    pub fn into_raw(self) -> *mut RawTensor {
        let raw = self.as_raw();
        std::mem::forget(self);
        raw
    }

    /// What it is like.
    pub fn view(&self) -> Result<View<'_>> {
        // SAFETY: the handle is alive while `self` is.
        unsafe { view(self.as_raw()) }
    }

    /// Copies the elements of another tensor of the same sizes, whatever the strides; complete on return.
    pub fn copy_from(&mut self, from: &Tensor) -> Result<()> {
        // SAFETY: both handles are alive.
        Error::check(unsafe { aoti_torch_copy_(self.as_raw(), from.as_raw(), 0) })
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: owned, and deleted once. A failure to free memory leaves nothing to do.
        let _ = unsafe { aoti_torch_delete_tensor_object(self.as_raw()) };
    }
}

/// What a tensor is like that somebody else owns.
///
/// # Safety
/// `raw` is a live handle of the shim library during `'a`.
pub unsafe fn view<'a>(raw: *mut RawTensor) -> Result<View<'a>> {
    let (mut rank, mut dtype, mut kind) = (0_i64, 0_i32, 0_i32);
    let (mut sizes, mut strides, mut data) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: a live handle, by the caller's promise, and places for the results.
    unsafe {
        Error::check(aoti_torch_get_dim(raw, &raw mut rank))?;
        Error::check(aoti_torch_get_dtype(raw, &raw mut dtype))?;
        Error::check(aoti_torch_get_device_type(raw, &raw mut kind))?;
        Error::check(aoti_torch_get_sizes(raw, &raw mut sizes))?;
        Error::check(aoti_torch_get_strides(raw, &raw mut strides))?;
        Error::check(aoti_torch_get_data_ptr(raw, &raw mut data))?;
    }
    let rank = usize::try_from(rank).unwrap_or_default();
    let dims = |at: *mut i64| {
        if rank == 0 || at.is_null() {
            return &[][..];
        }
        // SAFETY: the shim library's arrays hold `rank` numbers, as long as the tensor.
        unsafe { std::slice::from_raw_parts(at.cast_const(), rank) }
    };
    Ok(View { dtype, sizes: dims(sizes), strides: dims(strides), data, on_device: kind == CUDA })
}

/// A stream that is the calling thread's current one for a device, until dropped on the same thread.
#[derive(Debug)]
pub struct CurrentStream {
    device: i32,
    before: Option<*mut c_void>,
}

impl CurrentStream {
    /// Makes `stream` (a `cudaStream_t`, null for the default stream) current.
    ///
    /// # Safety
    /// The stream is alive until the result is dropped.
    pub unsafe fn set(stream: *mut c_void, device: i32) -> Self {
        let mut before = ptr::null_mut();
        // SAFETY: there is a place for the stream.
        let had = unsafe { et_current_stream_get(device, &raw mut before) };
        // SAFETY: the caller's promise.
        unsafe { et_current_stream_set(device, stream) };
        Self { device, before: had.then_some(before) }
    }
}

impl Drop for CurrentStream {
    fn drop(&mut self) {
        // SAFETY: on the same thread, since it is not `Send`; the stream before is that of whoever set it.
        unsafe {
            match self.before {
                Some(stream) => et_current_stream_set(self.device, stream),
                None => et_current_stream_clear(self.device),
            }
        }
    }
}
