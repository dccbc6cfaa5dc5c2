//! Memory of other libraries' arrays: what it holds, and how it becomes an input.

use crate::dlpack;
use crate::dtype;
use crate::errors::{OrRaise, bad_type, bad_value, type_name};
use crate::foreign::{Flavor, Torch};
use crate::stream;
use crate::strided;
use executorch_client::{Device, Dtype, Layout, Tensor, TensorInfo, TensorView};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use std::ffi::c_void;

/// The most dimensions.
const MAX_RANK: usize = 16;

/// An array in memory of the host or a device.
pub struct Array {
    dtype: Dtype,
    rank: usize,
    sizes: [i32; MAX_RANK],
    /// In bytes.
    strides: [i64; MAX_RANK],
    data: *mut u8,
    device: Device,
    is_writable: bool,
    owner: Py<PyAny>,
    /// Whose array it is.
    pub flavor: Flavor,
}

/// An array as an input: where it lies, or a copy.
pub enum Ready {
    /// Used in place; the object keeps it alive.
    InPlace(TensorView<'static>, Py<PyAny>),
    /// A copy in the order that the program wants.
    Copied(Tensor),
}

/// `PyArrayInterface` of NumPy's array interface, version 3.
#[repr(C)]
pub struct ArrayStruct {
    /// 2
    pub two: i32,
    /// Number of dimensions.
    pub nd: i32,
    /// Kind of number.
    pub kind: i8,
    /// Bytes of an element.
    pub itemsize: i32,
    /// `ALIGNED` and others.
    pub flags: i32,
    /// Sizes.
    pub shape: *mut isize,
    /// Strides in bytes.
    pub strides: *mut isize,
    /// The first element.
    pub data: *mut c_void,
    /// Unused.
    pub descr: *mut c_void,
}

/// Flags of [`ArrayStruct`]: C-contiguous, aligned, native byte order, writable.
pub const CONTIGUOUS: i32 = 1;
/// See [`CONTIGUOUS`].
pub const ALIGNED: i32 = 0x100;
/// See [`CONTIGUOUS`].
pub const NATIVE: i32 = 0x200;
/// See [`CONTIGUOUS`].
pub const WRITABLE: i32 = 0x400;

impl Array {
    fn new(dtype: Dtype, data: *mut u8, owner: Py<PyAny>, flavor: Flavor) -> Self {
        Self {
            dtype,
            rank: 0,
            sizes: [0; MAX_RANK],
            strides: [0; MAX_RANK],
            data,
            device: Device::HOST,
            is_writable: false,
            owner,
            flavor,
        }
    }

    fn push(&mut self, size: i64, stride: i64) -> PyResult<()> {
        let too_large = || bad_value(format!("a dimension of {size} is more than tensors can have"));
        let (Some(to), Some(step)) = (self.sizes.get_mut(self.rank), self.strides.get_mut(self.rank)) else {
            return Err(bad_value(format!("a tensor has at most {MAX_RANK} dimensions")));
        };
        *to = i32::try_from(size).map_err(|_| too_large())?;
        *step = stride;
        self.rank += 1;
        Ok(())
    }

    /// A `torch.Tensor`.
    pub fn from_torch(object: &Bound<'_, PyAny>, torch: &Torch) -> PyResult<Self> {
        let py = object.py();
        if !object.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
            if object.getattr(intern!(py, "is_cuda"))?.is_truthy()? {
                // The protocol orders PyTorch's work on the tensor before ours.
                let mut array = Self::from_dlpack(&object.call_method0(intern!(py, "detach"))?)?;
                array.flavor = Flavor::Torch;
                return Ok(array);
            }
            return Err(unknown_device(&object.getattr(intern!(py, "device"))?.str()?.to_string()));
        }
        let kind = object.getattr(intern!(py, "dtype"))?;
        let Some(dtype) = torch.dtype(&kind) else {
            return Err(bad_type(format!("no program takes elements of {kind}")));
        };
        let is_lazy = |name: &Bound<'_, PyString>| object.call_method0(name)?.is_truthy();
        if is_lazy(intern!(py, "is_neg"))? {
            return Self::from_torch(&object.call_method0(intern!(py, "resolve_neg"))?, torch);
        }
        if is_complex(dtype) && is_lazy(intern!(py, "is_conj"))? {
            return Self::from_torch(&object.call_method0(intern!(py, "resolve_conj"))?, torch);
        }
        let address: usize = object.call_method0(intern!(py, "data_ptr"))?.extract()?;
        let mut array = Self::new(dtype, address as *mut u8, object.clone().unbind(), Flavor::Torch);
        array.is_writable = true;
        let shape = object.getattr(intern!(py, "shape"))?.cast_into::<PyTuple>()?;
        let strides = object.call_method0(intern!(py, "stride"))?.cast_into::<PyTuple>()?;
        for (size, stride) in shape.iter_borrowed().zip(strides.iter_borrowed()) {
            array.push(size.extract()?, stride.extract::<i64>()? * dtype.size() as i64)?;
        }
        Ok(array)
    }

    /// A `numpy.ndarray`, or anything else that has `__array_struct__`.
    pub fn from_numpy(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let capsule = object.getattr(intern!(py, "__array_struct__"))?;
        // SAFETY: the protocol's capsule has no name and points to the structure; NumPy made it.
        let found = unsafe {
            ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()).cast::<ArrayStruct>().as_ref()
        };
        let Some(found) = found else {
            return Err(PyErr::fetch(py));
        };
        let kind = dtype::from_array_kind(found.kind as u8, found.itemsize as usize)
            .filter(|_| found.flags & NATIVE != 0);
        let Some(dtype) = kind else {
            let name = object.getattr(intern!(py, "dtype"))?.str()?.to_string();
            return Self::renamed(object, &name, found);
        };
        Self::of_struct(object, dtype, found)
    }

    /// NumPy's arrays of element types that other packages define, such as `bfloat16` of `ml_dtypes`.
    fn renamed(object: &Bound<'_, PyAny>, name: &str, found: &ArrayStruct) -> PyResult<Self> {
        match dtype::from_name(name) {
            Ok(dtype) if dtype.size() == found.itemsize as usize => Self::of_struct(object, dtype, found),
            _ => Err(bad_type(format!(
                "no program takes elements of NumPy's type {name} (byte order included); convert it, for example \
                 with .astype(\"float32\")"
            ))),
        }
    }

    fn of_struct(object: &Bound<'_, PyAny>, dtype: Dtype, found: &ArrayStruct) -> PyResult<Self> {
        let mut array = Self::new(dtype, found.data.cast(), object.clone().unbind(), Flavor::Numpy);
        array.is_writable = found.flags & WRITABLE != 0;
        for index in 0..found.nd.max(0) as usize {
            // SAFETY: the structure's arrays hold `nd` entries.
            let (size, stride) = unsafe { (*found.shape.add(index), *found.strides.add(index)) };
            array.push(size as i64, stride as i64)?;
        }
        Ok(array)
    }

    /// Anything with `__dlpack__`.
    pub fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let (kind, id): (i32, i32) = object.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
        let Some(device) = (dlpack::Device { kind, id }).runtime() else {
            return Err(unknown_device(&format!("({kind}, {id}) of DLPack")));
        };
        let arguments = PyDict::new(py);
        if !device.is_host() {
            // The producer lets this stream wait for its work on the memory.
            arguments.set_item(intern!(py, "stream"), stream::used())?;
        }
        let old_arguments = arguments.copy()?;
        arguments.set_item(intern!(py, "max_version"), (1, 0))?;
        let export = intern!(py, "__dlpack__");
        let capsule = match object.call_method(export, (), Some(&arguments)) {
            // Producers from before DLPack 1.0 do not know the argument.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                object.call_method(export, (), Some(&old_arguments))?
            }
            other => other?,
        };
        let (tensor, is_writable) = dlpack::read(&capsule)?;
        if tensor.device.runtime() != Some(device) {
            return Err(bad_value(format!(
                "the array says that it is on device ({kind}, {id}) of DLPack, but gave memory of ({}, {})",
                tensor.device.kind, tensor.device.id
            )));
        }
        let dtype = dtype::from_dlpack(tensor.dtype)?;
        let data = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
        let mut array = Self::new(dtype, data, capsule.clone().unbind(), Flavor::Own);
        (array.is_writable, array.device) = (is_writable, device);
        let rank = tensor.ndim.max(0) as usize;
        let mut dense = dtype.size() as i64;
        for index in 0..rank {
            // SAFETY: the structure's arrays hold `ndim` entries.
            let size = unsafe { *tensor.shape.add(index) };
            // SAFETY: as above, unless null.
            let stride = if tensor.strides.is_null() { 0 } else { unsafe { *tensor.strides.add(index) } };
            array.push(size, stride * dtype.size() as i64)?;
        }
        if tensor.strides.is_null() {
            for (stride, &size) in array.strides.iter_mut().zip(&array.sizes).take(rank).rev() {
                *stride = dense;
                dense *= i64::from(size);
            }
        }
        Ok(array)
    }

    /// Anything with `__array_interface__`.
    pub fn from_interface(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let interface = object.getattr(intern!(py, "__array_interface__"))?;
        let interface = interface.cast::<PyDict>()?;
        let field = |name: &str| interface.get_item(name);
        let missing = |name: &str| bad_value(format!("__array_interface__ has no {name:?}"));
        let kind: String = field("typestr")?.ok_or_else(|| missing("typestr"))?.extract()?;
        let dtype = match kind.as_bytes() {
            [b'<' | b'|' | b'=', kind, size @ ..] => std::str::from_utf8(size)
                .ok()
                .and_then(|size| size.parse().ok())
                .and_then(|size| dtype::from_array_kind(*kind, size)),
            _ => None,
        };
        let dtype =
            dtype.ok_or_else(|| bad_type(format!("no program takes elements of typestr {kind:?}")))?;
        let data = field("data")?.filter(|data| data.is_instance_of::<PyTuple>());
        let (address, is_read_only): (usize, bool) = match data {
            Some(data) => data.extract()?,
            None => return Err(bad_value("__array_interface__[\"data\"] should be (address, read-only)")),
        };
        let mut array = Self::new(dtype, address as *mut u8, object.clone().unbind(), Flavor::Own);
        array.is_writable = !is_read_only;
        let shape: Vec<i64> = field("shape")?.ok_or_else(|| missing("shape"))?.extract()?;
        let strides: Option<Vec<i64>> = match field("strides")?.filter(|strides| !strides.is_none()) {
            Some(strides) => Some(strides.extract()?),
            None => None,
        };
        let strides = match strides {
            Some(strides) if strides.len() == shape.len() => strides,
            Some(strides) => {
                return Err(bad_value(format!("{} sizes but {} strides", shape.len(), strides.len())));
            }
            None => {
                let mut dense = dtype.size() as i64;
                let mut strides: Vec<i64> = Vec::with_capacity(shape.len());
                for &size in shape.iter().rev() {
                    strides.push(dense);
                    dense = dense.saturating_mul(size);
                }
                strides.reverse();
                strides
            }
        };
        for (&size, &stride) in shape.iter().zip(&strides) {
            array.push(size, stride)?;
        }
        Ok(array)
    }

    /// Bytes, `array.array`, `memoryview` and others that speak the buffer protocol: copied, because the stable ABI
    /// of Python 3.10 has no door to it. None for anything else.
    pub fn from_buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let Ok(view) = py.get_type::<pyo3::types::PyMemoryView>().call1((object,)) else { return Ok(None) };
        let format: String = view.getattr(intern!(py, "format"))?.extract()?;
        let Some(dtype) = dtype::from_format(&format) else {
            return Err(bad_type(format!("no program takes elements of the buffer format {format:?}")));
        };
        let bytes = view.call_method0(intern!(py, "tobytes"))?.cast_into::<PyBytes>()?;
        let shape: Vec<i64> = view.getattr(intern!(py, "shape"))?.extract()?;
        let data = bytes.as_bytes().as_ptr().cast_mut();
        let mut array = Self::new(dtype, data, bytes.into_any().unbind(), Flavor::Own);
        let mut dense = dtype.size() as i64;
        for &size in &shape {
            array.push(size, 0)?;
        }
        for (stride, &size) in array.strides.iter_mut().zip(&shape).rev() {
            *stride = dense;
            dense *= size;
        }
        Ok(Some(array))
    }

    /// The array as input `index`, in place if it lies as the program wants it.
    pub fn ready(self, expected: Option<&TensorInfo>) -> PyResult<Ready> {
        let sizes = self.sizes.get(..self.rank).unwrap_or_default();
        let strides = self.strides.get(..self.rank).unwrap_or_default();
        let layout = match expected {
            Some(info) if info.layout.rank() == self.rank => {
                Layout::dense(self.dtype, sizes, info.layout.dim_order())
            }
            _ => Layout::contiguous(self.dtype, sizes),
        }
        .or_raise()?;
        if self.data.is_null() && layout.numel() > 0 {
            return Err(bad_value("the array has no memory"));
        }
        let size = self.dtype.size() as i64;
        let lies_so =
            |((&n, &wanted), &found): ((&i32, &i32), &i64)| n <= 1 || i64::from(wanted) * size == found;
        let is_dense = layout.numel() == 0 || sizes.iter().zip(layout.strides()).zip(strides).all(lies_so);
        if is_dense && self.data.addr().is_multiple_of(self.dtype.size()) {
            // SAFETY: the array's maker says that these elements are there; `owner` keeps them as long as it lives,
            // and the view is dropped before it (`input`).
            let view = unsafe { TensorView::on(self.device, layout, self.data, self.is_writable) };
            return Ok(Ready::InPlace(view, self.owner));
        }
        if !self.device.is_host() {
            let strides: Vec<i64> = strides.iter().map(|stride| stride / size).collect();
            return Err(bad_value(format!(
                "the array on {} has the strides {strides:?}, but the program wants {:?}; make it contiguous there, for \
                 example with .contiguous()",
                self.device,
                layout.strides()
            )));
        }
        // SAFETY: the array's maker says that the sizes and strides stay in its memory.
        unsafe { strided::gather(layout, self.data, strides) }.or_raise().map(Ready::Copied)
    }

    /// A dense, row-major copy.
    pub fn copy(self) -> PyResult<Tensor> {
        match self.ready(None)? {
            Ready::InPlace(view, _owner) => view.to_tensor().or_raise(),
            Ready::Copied(tensor) => Ok(tensor),
        }
    }

    /// The array that an object is, if it is one.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        if let Some(torch) = crate::foreign::torch(py)?
            && torch.has(object)?
        {
            return Self::from_torch(object, torch).map(Some);
        }
        if let Some(numpy) = crate::foreign::numpy(py)?
            && numpy.has(object)?
        {
            return Self::from_numpy(object).map(Some);
        }
        if object.hasattr(intern!(py, "__dlpack__"))? {
            return Self::from_dlpack(object).map(Some);
        }
        if object.hasattr(intern!(py, "__array_interface__"))? {
            return Self::from_interface(object).map(Some);
        }
        Self::from_buffer(object)
    }
}

fn is_complex(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Complex32 | Dtype::Complex64 | Dtype::Complex128)
}

fn unknown_device(found: &str) -> PyErr {
    bad_value(format!(
        "expected memory of the CPU or of a CUDA device, but the array is on device {found}; copy it, for example with \
         .cpu()"
    ))
}

/// The capsule of `__array_struct__` for one of our tensors.
pub fn export_struct<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    #[repr(C)]
    struct Export {
        header: ArrayStruct,
        shape: [isize; MAX_RANK],
        strides: [isize; MAX_RANK],
    }
    unsafe extern "C" fn end(capsule: *mut ffi::PyObject) {
        // SAFETY: called once by Python, with a capsule whose pointer is the box from below.
        drop(unsafe { Box::from_raw(ffi::PyCapsule_GetPointer(capsule, std::ptr::null()).cast::<Export>()) });
    }
    let layout = tensor.layout();
    if !tensor.device().is_host() {
        return Err(PyAttributeError::new_err(format!("NumPy has no tensors on {}", tensor.device())));
    }
    let Some(kind) = dtype::to_array_kind(layout.dtype()) else {
        return Err(PyAttributeError::new_err(format!("NumPy has no element type {}", layout.dtype())));
    };
    let size = layout.dtype().size();
    let mut export = Box::new(Export {
        header: ArrayStruct {
            two: 2,
            nd: layout.rank() as i32,
            kind: kind as i8,
            itemsize: size as i32,
            flags: ALIGNED | NATIVE | WRITABLE | if layout.is_contiguous() { CONTIGUOUS } else { 0 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            data: tensor.storage().as_ptr().cast(),
            descr: std::ptr::null_mut(),
        },
        shape: [0; MAX_RANK],
        strides: [0; MAX_RANK],
    });
    for (to, &from) in export.shape.iter_mut().zip(layout.sizes()) {
        *to = from as isize;
    }
    for (to, &from) in export.strides.iter_mut().zip(layout.strides()) {
        *to = from as isize * size as isize;
    }
    export.header.shape = export.shape.as_mut_ptr();
    export.header.strides = export.strides.as_mut_ptr();
    let pointer = Box::into_raw(export);
    // SAFETY: the header is the first field (`repr(C)`), so its address is the box's; the capsule owns the box from here on.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer.cast(), std::ptr::null(), Some(end));
        if capsule.is_null() {
            drop(Box::from_raw(pointer));
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// Says what an object is that no input can be.
pub fn refuse(object: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    bad_type(format!(
        "expected {expected}, found {}; give an array (NumPy, PyTorch, DLPack), a Tensor, a number or nested lists",
        type_name(object)
    ))
}
