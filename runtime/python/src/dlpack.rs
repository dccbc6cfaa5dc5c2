//! DLPack: memory that array libraries pass to each other in capsules.
//!
//! A capsule that we read stays whole: it is kept alive as long as its memory is in use, and frees it at its end.
//! A capsule that we make holds a [`client::Tensor`], so the memory lives as long as whoever took it.

use crate::dtype;
use executorch_client::{self as client};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};
use std::ptr;

/// Element type.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataType {
    /// Kind of number.
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of a vector type; 1.
    pub lanes: u16,
}

/// A device.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Device {
    /// `kDLCPU` is 1, `kDLCUDA` 2, `kDLCUDAHost` 3.
    pub kind: i32,
    /// Which one of that kind.
    pub id: i32,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct RawTensor {
    /// Start of the allocation.
    pub data: *mut c_void,
    /// Where it lives.
    pub device: Device,
    /// Number of dimensions.
    pub ndim: i32,
    /// Element type.
    pub dtype: DataType,
    /// `ndim` sizes.
    pub shape: *mut i64,
    /// `ndim` strides in elements, or null for row-major order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: RawTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: RawTensor,
}

const MAJOR: u32 = 1;
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";

impl Device {
    /// DLPack's name of a device of the runtime.
    pub fn of(device: client::Device) -> Self {
        if device.is_host() {
            Self { kind: CPU, id: 0 }
        } else {
            Self { kind: CUDA, id: i32::from(device.index) }
        }
    }

    /// The runtime's name of the device, if it knows such; the CPU reads pinned memory as any other.
    pub fn runtime(self) -> Option<client::Device> {
        match self.kind {
            CPU | CUDA_HOST => Some(client::Device::HOST),
            CUDA => i8::try_from(self.id).ok().filter(|&id| id >= 0).map(client::Device::cuda),
            _ => None,
        }
    }
}

/// Reads a capsule: the tensor in it, valid as long as the capsule, and whether it may be written.
pub fn read<'a>(capsule: &'a Bound<'_, PyAny>) -> PyResult<(&'a RawTensor, bool)> {
    let pointer = capsule.as_ptr();
    // SAFETY: the checks of the name make the capsule's pointer one of the structure that goes with the name. The
    // capsule is borrowed for `'a`, and only its consumer (nobody else has it) would free it.
    unsafe {
        if ffi::PyCapsule_IsValid(pointer, NAME_VERSIONED.as_ptr()) == 1 {
            let managed =
                ffi::PyCapsule_GetPointer(pointer, NAME_VERSIONED.as_ptr()).cast::<ManagedVersioned>();
            if (*managed).major != MAJOR {
                return Err(PyBufferError::new_err(format!(
                    "the producer speaks DLPack {}.{}, version {MAJOR} was asked for",
                    (*managed).major,
                    (*managed).minor
                )));
            }
            return Ok((&(*managed).tensor, (*managed).flags & READ_ONLY == 0));
        }
        if ffi::PyCapsule_IsValid(pointer, NAME.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(pointer, NAME.as_ptr()).cast::<Managed>();
            return Ok((&(*managed).tensor, true));
        }
    }
    Err(PyBufferError::new_err("__dlpack__ gave no fresh DLPack capsule"))
}

/// The capsule of a tensor: with a version and flags if `versioned`, for consumers that know them.
pub fn export<'py>(
    py: Python<'py>,
    tensor: client::Tensor,
    versioned: bool,
    is_copied: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (pointer, name) = managed(tensor, versioned, is_copied)?;
    // SAFETY: the capsule owns the structure from here on: its end or its consumer calls the deleter. If there is no
    // capsule, the structure is freed here.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(end_capsule));
        if capsule.is_null() {
            if versioned { delete_versioned(pointer.cast()) } else { delete(pointer.cast()) }
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// A structure that owns a tensor until its deleter is called, and the name of a capsule for it.
fn managed(
    tensor: client::Tensor,
    versioned: bool,
    is_copied: bool,
) -> PyResult<(*mut c_void, &'static CStr)> {
    let layout = *tensor.layout();
    let data_type = dtype::to_dlpack(layout.dtype())
        .ok_or_else(|| PyBufferError::new_err(format!("DLPack has no element type {}", layout.dtype())))?;
    let tensor_device = tensor.device();
    let mut export =
        Box::new(Export { shape: [0; 16], strides: [0; 16], plain: None, versioned: None, tensor });
    for (to, &from) in export.shape.iter_mut().zip(layout.sizes()) {
        *to = i64::from(from);
    }
    for (to, &from) in export.strides.iter_mut().zip(layout.strides()) {
        *to = i64::from(from);
    }
    let raw = RawTensor {
        data: export.tensor.storage().as_ptr().cast(),
        device: Device::of(tensor_device),
        ndim: layout.rank() as i32,
        dtype: data_type,
        shape: export.shape.as_mut_ptr(),
        strides: export.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let export = Box::into_raw(export);
    // SAFETY: the box is whole and nobody else's; the structure made in it lives as long as the box, which its deleter
    // frees once.
    unsafe {
        let (pointer, name): (*mut c_void, _) = if versioned {
            let managed = (*export).versioned.insert(ManagedVersioned {
                major: MAJOR,
                minor: 0,
                context: export.cast(),
                deleter: Some(delete_versioned),
                flags: if is_copied { IS_COPIED } else { 0 },
                tensor: raw,
            });
            (ptr::from_mut(managed).cast(), NAME_VERSIONED)
        } else {
            let managed = (*export).plain.insert(Managed {
                tensor: raw,
                context: export.cast(),
                deleter: Some(delete),
            });
            (ptr::from_mut(managed).cast(), NAME)
        };
        Ok((pointer, name))
    }
}

/// A library's function that makes its own array of a structure, from its `__dlpack_c_exchange_api__`: what
/// `from_dlpack` does, without a capsule.
#[derive(Clone, Copy)]
pub struct Importer(unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut ffi::PyObject) -> i32);

/// The head of `DLPackExchangeAPI`.
#[repr(C)]
struct ExchangeApi {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: *const c_void,
    from_object: *const c_void,
    to_object: Option<unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut ffi::PyObject) -> i32>,
}

impl Importer {
    /// The function of an array class, if the class offers one of a version that we know.
    pub fn of(class: &Bound<'_, PyAny>) -> Option<Self> {
        let capsule = class.getattr("__dlpack_c_exchange_api__").ok()?;
        let name = c"dlpack_exchange_api";
        // SAFETY: the name says what the pointer points to: a static table, whose head is the same in one major version.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 1 {
                return None;
            }
            let table =
                ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()).cast::<ExchangeApi>().as_ref()?;
            if table.major == MAJOR { table.to_object.map(Self) } else { None }
        }
    }

    /// The library's array over a tensor's memory.
    pub fn import<'py>(self, py: Python<'py>, tensor: client::Tensor) -> PyResult<Bound<'py, PyAny>> {
        let (pointer, _) = managed(tensor, true, false)?;
        let mut object = ptr::null_mut();
        // SAFETY: the function takes the structure, and gives a new reference or leaves an exception.
        unsafe {
            if (self.0)(pointer.cast(), &mut object) != 0 {
                return Err(PyErr::fetch(py));
            }
            Bound::from_owned_ptr_or_err(py, object)
        }
    }
}

/// What a capsule's pointer keeps alive.
struct Export {
    shape: [i64; 16],
    strides: [i64; 16],
    plain: Option<Managed>,
    versioned: Option<ManagedVersioned>,
    tensor: client::Tensor,
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: called once, on a structure that `export` made, whose context is the box.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Export>()) });
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as for `delete`.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Export>()) });
}

/// Frees a capsule's memory unless a consumer took it, which it says by renaming the capsule.
unsafe extern "C" fn end_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with a capsule of `export`; a name that is still ours says that nobody consumed it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr()).cast());
        }
    }
}
