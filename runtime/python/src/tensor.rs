//! `executorch_runtime.Tensor`: what comes out when neither NumPy nor PyTorch went in.

use crate::array::{self, Array};
use crate::components;
use crate::dlpack;
use crate::dtype;
use crate::errors::{OrRaise, bad_type, bad_value};
use crate::input::reordered;
use crate::nested;
use crate::output;
use crate::stream;
use executorch_client::{self as client, Dtype, Layout, Storage};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PySlice, PyTuple};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a consumer of a capsule gives instead of a stream to do without synchronisation.
const NO_STREAM: i64 = -1;

/// A tensor in memory of the host or a device.
///
/// NumPy and PyTorch take it without a copy (`numpy.asarray(t)`, `torch.from_dlpack(t)`); `tolist()` gives nested
/// lists. What lies on a device is read there, or after `cpu()`. `Tensor(data, dtype="float32", shape=(2, 3))` makes one from lists, numbers, arrays or bytes.
#[pyclass(frozen, module = "executorch_runtime", weakref)]
pub struct Tensor {
    inner: client::Tensor,
    /// The stream on which the device may still be working on it; none if that is done.
    pending: Option<i64>,
}

impl From<client::Tensor> for Tensor {
    fn from(inner: client::Tensor) -> Self {
        let pending = if inner.device().is_host() { None } else { stream::chosen() };
        Self { inner, pending }
    }
}

impl Tensor {
    /// The runtime's tensor.
    pub fn inner(&self) -> &client::Tensor {
        &self.inner
    }

    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    /// Makes sure that the elements are there for who uses `stream`: waits for the device unless they come in order. Asks
    /// for the stream only if the device may still be working.
    pub fn settle(&self, stream: impl FnOnce() -> i64) -> client::Result<()> {
        match self.pending {
            Some(pending) if pending != stream() => self.inner.device().synchronize(),
            _ => Ok(()),
        }
    }

    fn copy_to(&self, py: Python<'_>, device: client::Device) -> PyResult<client::Tensor> {
        let copy = || {
            self.settle(stream::used)?;
            self.inner.to(device)
        };
        py.detach(copy).or_raise()
    }

    /// The tensor, for who reads its elements.
    fn readable(&self) -> PyResult<&client::Tensor> {
        if self.inner.device().is_host() {
            return Ok(&self.inner);
        }
        Err(bad_value(format!(
            "the tensor lies on {}, where Python cannot read it: copy it to the host with .cpu()",
            self.inner.device()
        )))
    }

    /// In row-major order, copied if it is not.
    fn contiguous(&self) -> PyResult<client::Tensor> {
        self.readable()?;
        let layout = self.layout();
        reordered(&self.inner, Layout::contiguous(layout.dtype(), layout.sizes()).or_raise()?)
    }

    /// A part of a row-major tensor: `sizes` from element `start` on, in the same memory.
    fn part(whole: &client::Tensor, sizes: &[i32], start: usize) -> PyResult<client::Tensor> {
        let layout = Layout::contiguous(whole.layout().dtype(), sizes).or_raise()?;
        let data = whole.storage().as_ptr().wrapping_add(start * layout.dtype().size());
        let Some(data) = NonNull::new(data) else {
            return Err(bad_value("the tensor has no memory"));
        };
        let owner = Box::new(Arc::clone(whole.storage()));
        // SAFETY: the callers stay within the whole tensor, whose storage the part keeps alive.
        let storage = unsafe { Storage::foreign(data, layout.nbytes(), owner) };
        client::Tensor::new(layout, Arc::new(storage)).or_raise()
    }

    /// The tensor or number at the given indices of the first dimensions.
    fn at<'py>(&self, py: Python<'py>, indices: &[isize]) -> PyResult<Bound<'py, PyAny>> {
        let whole = self.contiguous()?;
        let sizes = whole.layout().sizes();
        if indices.len() > sizes.len() {
            return Err(PyIndexError::new_err(format!(
                "{} indices for a tensor of {} dimensions",
                indices.len(),
                sizes.len()
            )));
        }
        let (outer, inner) = sizes.split_at(indices.len());
        let mut start = 0;
        for (dim, (&index, &size)) in indices.iter().zip(outer).enumerate() {
            let place = if index < 0 { index + size as isize } else { index };
            if place < 0 || place >= size as isize {
                return Err(PyIndexError::new_err(format!(
                    "index {index} is out of range for dimension {dim} of size {size}"
                )));
            }
            start = start * size as usize + place as usize;
        }
        let rest: usize = inner.iter().map(|&size| size as usize).product();
        if inner.is_empty() {
            let dtype = whole.layout().dtype();
            let data = whole.storage().as_ptr().wrapping_add(start * dtype.size());
            // SAFETY: the indices were checked against the sizes.
            return unsafe { nested::element(py, dtype, data) };
        }
        let part = Self::part(&whole, inner, start * rest)?;
        Ok(Bound::new(py, Self::from(part))?.into_any())
    }

    fn slice<'py>(&self, py: Python<'py>, slice: &Bound<'py, PySlice>) -> PyResult<Bound<'py, PyAny>> {
        let whole = self.contiguous()?;
        let Some((&count, inner)) = whole.layout().sizes().split_first() else {
            return Err(PyIndexError::new_err("a tensor without dimensions cannot be sliced"));
        };
        let bounds = slice.indices(count as isize)?;
        let row: usize = inner.iter().map(|&size| size as usize).product();
        let mut sizes = vec![bounds.slicelength as i32];
        sizes.extend(inner);
        let part = if bounds.step == 1 {
            Self::part(&whole, &sizes, bounds.start as usize * row)?
        } else {
            let layout = Layout::contiguous(whole.layout().dtype(), &sizes).or_raise()?;
            let size = layout.dtype().size() as i64;
            let mut strides: Vec<i64> = layout.strides().iter().map(|&s| i64::from(s) * size).collect();
            if let Some(first) = strides.first_mut() {
                *first = bounds.step as i64 * row as i64 * size;
            }
            let first = whole.storage().as_ptr().wrapping_offset(bounds.start * row as isize * size as isize);
            // SAFETY: Python's slice stays within the first dimension.
            unsafe { crate::strided::gather(layout, first, &strides) }.or_raise()?
        };
        Ok(Bound::new(py, Self::from(part))?.into_any())
    }

    fn only<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.layout().numel() != 1 {
            return Err(bad_value(format!(
                "only a tensor of one element is a number, this one is {}",
                self.layout()
            )));
        }
        self.readable()?;
        // SAFETY: the tensor has one element, at its start, on the host.
        unsafe { nested::element(py, self.layout().dtype(), self.inner.storage().as_ptr()) }
    }
}

#[pymethods]
impl Tensor {
    #[new]
    #[pyo3(signature = (data, *, dtype=None, shape=None))]
    fn new(
        data: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        shape: Option<Vec<i32>>,
    ) -> PyResult<Self> {
        let wanted = match dtype {
            Some(dtype) => Some(dtype::from_name(&dtype.str()?.to_string())?),
            None => None,
        };
        let tensor = if let Ok(own) = data.cast::<Tensor>() {
            own.get().inner.view().to_tensor().or_raise()?
        } else if nested::is_sequence(data) || nested::is_number(data) {
            let dtype = match wanted {
                Some(dtype) => dtype,
                None => nested::infer(data)?,
            };
            nested::parse(data, dtype)?
        } else {
            match Array::of(data)? {
                Some(array) => array.copy()?,
                None => return Err(array::refuse(data, "something to make a tensor of")),
            }
        };
        shaped(tensor, wanted, shape).map(Self::from)
    }

    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.layout().sizes())
    }

    /// The strides, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.layout().strides())
    }

    /// The element type's name, such as `"float32"`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.layout().dtype().name()
    }

    /// Where it lies: "cpu", "cuda:0" and so on.
    #[getter]
    fn device(&self) -> String {
        self.inner.device().to_string()
    }

    /// The tensor in memory of the host: itself if it lies there, else a copy.
    fn cpu(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy_to(py, client::Device::HOST).map(Self::from)
    }

    /// The tensor on a device ("cpu", "cuda", "cuda:1"): itself if it lies there, else a copy.
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        components::ensure(py)?;
        let device = client::Device::named(device).or_raise()?;
        let pending = if device == self.inner.device() { self.pending } else { None };
        self.copy_to(py, device).map(|inner| Self { inner, pending })
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.layout().rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.layout().numel()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.layout().nbytes()
    }

    /// Nested lists of the elements; one number for a tensor without dimensions.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        nested::to_list(py, self.readable()?)
    }

    /// The elements' bytes in row-major order.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let whole = self.contiguous()?;
        Ok(PyBytes::new(py, whole.view().bytes().or_raise()?))
    }

    /// The only element, as a number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.only(py)
    }

    /// The address of the first element; valid as long as the tensor.
    fn data_ptr(&self) -> usize {
        self.inner.storage().as_ptr().addr()
    }

    /// The tensor as a NumPy array over the same memory. Imports NumPy.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().readable()?;
        slf.py().import("numpy")?.call_method1("asarray", (slf,))
    }

    /// The tensor as a PyTorch tensor over the same memory. Imports PyTorch.
    fn torch<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let torch = slf.py().import("torch")?;
        let inner = &slf.get().inner;
        if !inner.device().is_host() {
            return torch.call_method1("from_dlpack", (slf,));
        }
        output::to_array(slf.py(), inner.clone(), crate::foreign::Flavor::Torch)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.layout().sizes().first() {
            Some(&size) => Ok(size as usize),
            None => Err(PyTypeError::new_err("a tensor without dimensions has no length")),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            return self.slice(py, slice);
        }
        if let Ok(indices) = index.cast::<PyTuple>() {
            return self.at(py, &indices.extract::<Vec<isize>>()?);
        }
        if index.is_instance_of::<PyInt>() {
            return self.at(py, &[index.extract()?]);
        }
        Err(bad_type("a tensor is indexed by an int, a tuple of ints, or a slice of its first dimension"))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.only(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((self.only(py)?,))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.only(py)?.is_truthy()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let layout = self.layout();
        let sizes: Vec<String> = layout.sizes().iter().map(ToString::to_string).collect();
        let shape = format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" });
        if !self.inner.device().is_host() {
            let device = self.inner.device();
            return Ok(format!("Tensor(shape={shape}, dtype='{}', device='{device}')", layout.dtype()));
        }
        if layout.numel() > 64 {
            return Ok(format!("Tensor(shape={shape}, dtype='{}')", layout.dtype()));
        }
        match self.tolist(py) {
            Ok(list) => Ok(format!("Tensor({}, dtype='{}')", list.repr()?, layout.dtype())),
            Err(_) => Ok(format!("Tensor(shape={shape}, dtype='{}')", layout.dtype())),
        }
    }

    /// The tensor for another library. On a device, `stream` says where it will be used, as the array API standard numbers
    /// streams of CUDA (1 is the legacy default stream; None means the same): the memory is ready there. -1 asks for no
    /// synchronisation.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let own = self.inner.device();
        let wanted = match dl_device {
            None => own,
            Some((kind, id)) => {
                (dlpack::Device { kind, id }).runtime().filter(|&d| d == own || d.is_host()).ok_or_else(
                    || PyBufferError::new_err(format!("the tensor can be exported to {own} or the CPU only")),
                )?
            }
        };
        if wanted != own && copy == Some(false) {
            return Err(PyBufferError::new_err(format!(
                "a tensor on {own} cannot be used on the CPU without a copy"
            )));
        }
        if wanted.is_host() && stream.is_some() {
            return Err(PyBufferError::new_err("a tensor of the CPU has no stream"));
        }
        if stream == Some(0) {
            return Err(PyBufferError::new_err(
                "stream 0 of CUDA is ambiguous: give 1 for the legacy default stream",
            ));
        }
        let is_copied = copy == Some(true) || wanted != own;
        let used = || if is_copied { stream::used() } else { stream.unwrap_or(stream::LEGACY) };
        let tensor = py.detach(|| {
            if is_copied || stream != Some(NO_STREAM) {
                self.settle(used)?;
            }
            if is_copied { self.inner.view().copy_to(wanted) } else { Ok(self.inner.clone()) }
        });
        dlpack::export(py, tensor.or_raise()?, max_version.is_some_and(|(major, _)| major >= 1), is_copied)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = dlpack::Device::of(self.inner.device());
        (device.kind, device.id)
    }

    #[getter]
    fn __array_struct__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array::export_struct(py, &self.inner)
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let layout = self.layout();
        if !self.inner.device().is_host() {
            return Err(PyAttributeError::new_err(format!(
                "NumPy has no tensors on {}",
                self.inner.device()
            )));
        }
        let Some(kind) = dtype::to_array_kind(layout.dtype()) else {
            return Err(PyAttributeError::new_err(format!("NumPy has no element type {}", layout.dtype())));
        };
        let size = layout.dtype().size();
        let order = if size == 1 {
            '|'
        } else if cfg!(target_endian = "big") {
            '>'
        } else {
            '<'
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", format!("{order}{}{size}", char::from(kind)))?;
        interface.set_item("shape", PyTuple::new(py, layout.sizes())?)?;
        interface.set_item("data", (self.data_ptr(), false))?;
        let strides = layout.strides().iter().map(|&stride| i64::from(stride) * size as i64);
        let strides = PyTuple::new(py, strides.collect::<Vec<_>>())?;
        interface.set_item(
            "strides",
            if layout.is_contiguous() { py.None().into_bound_py_any(py)? } else { strides.into_any() },
        )?;
        Ok(interface)
    }
}

/// The tensor with the element type and shape that were asked for, over the same bytes.
fn shaped(tensor: client::Tensor, dtype: Option<Dtype>, shape: Option<Vec<i32>>) -> PyResult<client::Tensor> {
    let found = *tensor.layout();
    let dtype = dtype.unwrap_or(found.dtype());
    // Bytes become whatever is said; numbers of one type do not silently become another.
    if dtype != found.dtype() && found.dtype() != Dtype::UInt8 {
        return Err(bad_value(format!(
            "the array holds {}, not {dtype}; convert it where it comes from",
            found.dtype()
        )));
    }
    let shape = match shape {
        Some(shape) => shape,
        None if dtype == found.dtype() => found.sizes().to_vec(),
        None => vec![(found.nbytes() / dtype.size()) as i32],
    };
    let layout = Layout::contiguous(dtype, &shape).or_raise()?;
    if layout.nbytes() != found.nbytes() {
        return Err(bad_value(format!(
            "a tensor {layout} has {} bytes, {} were given",
            layout.nbytes(),
            found.nbytes()
        )));
    }
    client::Tensor::new(layout, Arc::clone(tensor.storage())).or_raise()
}
