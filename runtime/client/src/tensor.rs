//! Tensors that own their memory, and views of memory that others own.

use crate::device::{self, Device};
use crate::layout::Layout;
use executorch_abi::error::*;
use executorch_abi::tensor::{ET_DYNAMISM_STATIC, et_tensor_t};
use executorch_abi::{Element, Error, Result, TensorRef};
use std::alloc;
use std::any::Any;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

/// Alignment of memory that the client allocates: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;

/// Memory of a fixed address and size, on the host or a device, with whatever keeps it alive.
#[derive(Debug)]
pub struct Storage {
    data: NonNull<u8>,
    size: usize,
    device: Device,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    Heap(alloc::Layout),
    Device,
    Foreign(#[expect(dead_code, reason = "kept for its drop")] Box<dyn Any + Send + Sync>),
}

// SAFETY: memory of the heap and of devices is this value's alone; foreign memory may be used from any thread by the contract of
// `Storage::foreign`, and its owner is `Send` and `Sync`.
unsafe impl Send for Storage {}
// SAFETY: as above; a shared reference gives only the address away.
unsafe impl Sync for Storage {}

impl Storage {
    /// Zeroed memory, aligned to 64 bytes. Fails if there is none.
    pub fn zeroed(size: usize) -> Result<Self> {
        Self::heap(size, alloc::alloc_zeroed)
    }

    /// Memory on a device, aligned to 64 bytes; zeroed on the host. Fails if there is none, or nothing brings the device.
    pub fn on(device: Device, size: usize) -> Result<Self> {
        if device.is_host() {
            return Self::zeroed(size);
        }
        Ok(match device.allocate(size, ALIGNMENT)? {
            Some(data) => Self { data, size, device, owner: Owner::Device },
            None => {
                let mut empty = Self::zeroed(0)?;
                empty.device = device;
                empty
            }
        })
    }

    /// A copy of `bytes`, aligned to 64 bytes. Fails if there is no memory.
    pub fn copy(bytes: &[u8]) -> Result<Self> {
        let storage = Self::heap(bytes.len(), alloc::alloc)?;
        // SAFETY: both hold as many bytes, and the new memory is nobody else's.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), storage.as_ptr(), bytes.len()) };
        Ok(storage)
    }

    fn heap(size: usize, allocate: unsafe fn(alloc::Layout) -> *mut u8) -> Result<Self> {
        let failed = || {
            Error::new(
                ET_ERROR_MEMORY_ALLOCATION_FAILED,
                format!("{size} bytes for a tensor are not available"),
            )
        };
        let layout = alloc::Layout::from_size_align(size.max(1), ALIGNMENT).map_err(|_| failed())?;
        // SAFETY: the layout's size is not zero.
        let data = NonNull::new(unsafe { allocate(layout) }).ok_or_else(failed)?;
        Ok(Self { data, size, device: Device::HOST, owner: Owner::Heap(layout) })
    }

    /// Memory of someone else.
    ///
    /// # Safety
    /// `size` bytes at `data` are there, at this address, until `owner` is dropped, and may be read from any
    /// thread. They change only where the holder of the resulting tensor knows of it.
    pub unsafe fn foreign(data: NonNull<u8>, size: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::foreign_on(Device::HOST, data, size, owner) }
    }

    /// As [`Storage::foreign`], on a device: there, the device's work may read the bytes.
    ///
    /// # Safety
    /// As for [`Storage::foreign`].
    pub unsafe fn foreign_on(
        device: Device,
        data: NonNull<u8>,
        size: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { data, size, device, owner: Owner::Foreign(owner) }
    }

    /// The first byte. Whoever dereferences it answers for it.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where it lies.
    pub fn device(&self) -> Device {
        self.device
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        match self.owner {
            // SAFETY: allocated with this layout, and freed once.
            Owner::Heap(layout) => unsafe { alloc::dealloc(self.data.as_ptr(), layout) },
            // SAFETY: allocated on this device, and freed once.
            Owner::Device => unsafe { self.device.free(self.data) },
            Owner::Foreign(_) => {}
        }
    }
}

/// A tensor whose memory lives as long as it does. Cloning it shares the memory.
///
/// May be sent to and used from any thread; the contents are not synchronised.
#[derive(Debug, Clone)]
pub struct Tensor {
    layout: Layout,
    storage: Arc<Storage>,
}

impl Tensor {
    /// A tensor over `storage`, which must hold the layout's bytes, aligned to the element type.
    pub fn new(layout: Layout, storage: Arc<Storage>) -> Result<Self> {
        check(&layout, storage.as_ptr(), storage.size())?;
        Ok(Self { layout, storage })
    }

    /// A copy of `bytes`, which must be the layout's.
    pub fn copy(layout: Layout, bytes: &[u8]) -> Result<Self> {
        if bytes.len() != layout.nbytes() {
            return Err(wrong_size(&layout, bytes.len()));
        }
        Self::new(layout, Arc::new(Storage::copy(bytes)?))
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The memory.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The tensor, to read.
    pub fn view(&self) -> TensorView<'_> {
        // SAFETY: the storage holds the layout's bytes and outlives the borrow.
        unsafe { TensorView::on(self.device(), self.layout, self.storage.as_ptr(), false) }
    }

    /// Where its memory lies.
    pub fn device(&self) -> Device {
        self.storage.device()
    }

    /// The tensor on a device: itself if it lies there, else a copy.
    pub fn to(&self, device: Device) -> Result<Self> {
        if device == self.device() { Ok(self.clone()) } else { self.view().copy_to(device) }
    }
}

/// A tensor whose memory somebody else owns during `'a`.
#[derive(Debug, Clone, Copy)]
pub struct TensorView<'a> {
    layout: Layout,
    data: *mut u8,
    device: Device,
    writable: bool,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: stands for a `&[u8]`, which may be sent and shared.
unsafe impl Send for TensorView<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorView<'_> {}

impl<'a> TensorView<'a> {
    /// Views `bytes`, which must be exactly the layout's, aligned to the element type.
    pub fn new(layout: Layout, bytes: &'a [u8]) -> Result<Self> {
        if bytes.len() != layout.nbytes() {
            return Err(wrong_size(&layout, bytes.len()));
        }
        check(&layout, bytes.as_ptr(), bytes.len())?;
        // SAFETY: the bytes are borrowed for `'a` and are as many as the layout needs.
        Ok(unsafe { Self::from_raw(layout, bytes.as_ptr().cast_mut(), false) })
    }

    /// Views memory by its address. `writable` lets a program that changes its input change it in place.
    ///
    /// # Safety
    /// During `'a`, the layout's bytes at `data` may be read, and written if `writable`; the address is aligned to
    /// the element type.
    pub unsafe fn from_raw(layout: Layout, data: *mut u8, writable: bool) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::on(Device::HOST, layout, data, writable) }
    }

    /// As [`TensorView::from_raw`], on a device: there, the device's work may read and write the bytes.
    ///
    /// # Safety
    /// As for [`TensorView::from_raw`].
    pub unsafe fn on(device: Device, layout: Layout, data: *mut u8, writable: bool) -> Self {
        Self { layout, data, device, writable, memory: PhantomData }
    }

    /// Where its memory lies.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the memory may be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data
    }

    /// The elements' bytes, in memory order. Fails for a tensor on a device.
    pub fn bytes(&self) -> Result<&'a [u8]> {
        self.on_host()?;
        if self.layout.nbytes() == 0 {
            return Ok(&[]);
        }
        // SAFETY: the constructor's contract, for memory of the host.
        Ok(unsafe { slice::from_raw_parts(self.data, self.layout.nbytes()) })
    }

    fn on_host(&self) -> Result<()> {
        if self.device.is_host() {
            return Ok(());
        }
        Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            format!("the tensor lies on {}, where the host cannot read it: copy it to the host", self.device),
        ))
    }

    /// The elements in memory order; fails if `T` does not stand for the dtype, or for a tensor on a device.
    pub fn data<T: Element>(&self) -> Result<&'a [T]> {
        self.on_host()?;
        if !T::DTYPES.contains(&self.layout.dtype()) {
            let expected = T::DTYPES.first().map_or("no dtype", |d| d.name());
            return Err(Error::new(
                ET_ERROR_INVALID_TYPE,
                format!("expected a tensor of {expected}, found {}", self.layout.dtype()),
            ));
        }
        if self.layout.numel() == 0 {
            return Ok(&[]);
        }
        // SAFETY: the constructor's contract, for memory of the host: so many elements of this size, aligned to the
        // element type.
        Ok(unsafe { slice::from_raw_parts(self.data.cast(), self.layout.numel()) })
    }

    /// A copy that owns its memory, on the same device.
    pub fn to_tensor(&self) -> Result<Tensor> {
        if self.device.is_host() {
            Tensor::copy(self.layout, self.bytes()?)
        } else {
            self.copy_to(self.device)
        }
    }

    /// A copy on a device that owns its memory.
    pub fn copy_to(&self, device: Device) -> Result<Tensor> {
        let storage = Storage::on(device, self.layout.nbytes())?;
        // SAFETY: both sides hold the layout's bytes on their devices, and the new one is nobody else's.
        unsafe { device::copy(device, storage.as_ptr(), self.device, self.data, self.layout.nbytes()) }?;
        Tensor::new(self.layout, Arc::new(storage))
    }

    /// The tensor as the ABI takes it. It borrows from `self`; the runtime only reads its shape.
    pub(crate) fn raw(&self) -> et_tensor_t {
        et_tensor_t {
            data: self.data.cast(),
            sizes: self.layout.sizes().as_ptr().cast_mut(),
            strides: self.layout.strides().as_ptr().cast_mut(),
            dim_order: self.layout.dim_order().as_ptr().cast_mut(),
            numel: self.layout.numel() as u64,
            capacity_bytes: self.layout.nbytes() as u64,
            struct_size: size_of::<et_tensor_t>() as u16,
            rank: self.layout.rank() as u8,
            dtype: self.layout.dtype() as i8,
            dynamism: ET_DYNAMISM_STATIC,
            device_type: self.device.kind,
            device_index: self.device.index,
            flags: 0,
            user_data: ptr::null_mut(),
        }
    }

    /// Views a tensor of the runtime; `what` names it in messages.
    ///
    /// # Safety
    /// `raw` is a valid tensor of a method, which nobody writes to or frees during `'a`.
    pub(crate) unsafe fn of_runtime(raw: &et_tensor_t, what: &str) -> Result<Self> {
        // SAFETY: the caller's promise.
        let tensor = unsafe { TensorRef::new(raw) };
        let layout = Layout::dense(tensor.dtype()?, tensor.sizes(), tensor.dim_order())?;
        if raw.data.is_null() && layout.nbytes() > 0 {
            return Err(Error::new(
                ET_ERROR_INVALID_STATE,
                format!("{what} has no memory yet: run the method first"),
            ));
        }
        let device = Device { kind: raw.device_type, index: raw.device_index };
        // SAFETY: the runtime's tensors hold what their shape says, where they say.
        Ok(unsafe { Self::on(device, layout, raw.data.cast(), false) })
    }
}

fn wrong_size(layout: &Layout, found: usize) -> Error {
    Error::new(
        ET_ERROR_INVALID_ARGUMENT,
        format!("a tensor {layout} has {} bytes, {found} were given", layout.nbytes()),
    )
}

fn check(layout: &Layout, data: *const u8, size: usize) -> Result<()> {
    if size < layout.nbytes() {
        return Err(wrong_size(layout, size));
    }
    let alignment = layout.dtype().size();
    if layout.numel() > 0 && !data.addr().is_multiple_of(alignment) {
        return Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("the memory of a tensor {layout} is not aligned to {alignment} bytes"),
        ));
    }
    Ok(())
}
