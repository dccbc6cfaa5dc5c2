//! The tensor behind a handle.

mod layout;
mod storage;

pub use layout::Layout;
pub use storage::{Place, Storage, on_stream, with_stream};

use crate::boundary::invalid;
use executorch_abi::{Dtype, Result};
use std::ffi::c_void;
use std::sync::Arc;

/// The most dimensions that a tensor may have.
pub const MAX_RANK: usize = 64;

/// A view of a storage.
#[derive(Debug, Clone)]
pub struct Tensor {
    layout: Layout,
    dtype: Dtype,
    /// In elements, not negative, and with the layout inside the storage.
    offset: i64,
    storage: Arc<Storage>,
}

impl Tensor {
    /// A view of `storage` that begins `offset` elements after its start, which must lie inside it.
    pub fn view(storage: Arc<Storage>, dtype: Dtype, layout: Layout, offset: i64) -> Result<Self> {
        let bytes = bytes_of(&layout, dtype, offset)?;
        if layout.numel() > 0 && bytes > storage.bytes() {
            return Err(invalid(format!(
                "a view of sizes {:?}, strides {:?} and offset {offset} of {dtype} needs {bytes} bytes, the storage has {}",
                layout.sizes(),
                layout.strides(),
                storage.bytes()
            )));
        }
        Ok(Self { layout, dtype, offset, storage })
    }

    /// A tensor with memory of its own, whose content is undefined.
    pub fn empty(place: Place, dtype: Dtype, layout: Layout) -> Result<Self> {
        let storage = Storage::allocate(place, bytes_of(&layout, dtype, 0)?)?;
        Ok(Self { layout, dtype, offset: 0, storage: Arc::new(storage) })
    }

    /// A tensor over memory of somebody else's.
    ///
    /// # Safety
    /// The memory holds the layout at the offset, and lives as long as the tensor and its views.
    pub unsafe fn borrowed(
        data: *mut c_void,
        place: Place,
        dtype: Dtype,
        layout: Layout,
        offset: i64,
    ) -> Result<Self> {
        let bytes = bytes_of(&layout, dtype, offset)?;
        if data.is_null() && layout.numel() > 0 {
            return Err(invalid(format!("the data of a tensor of {} elements is null", layout.numel())));
        }
        // SAFETY: promised by the caller.
        let storage = Arc::new(unsafe { Storage::borrowed(data, place, bytes) });
        Ok(Self { layout, dtype, offset, storage })
    }

    /// Sizes and strides.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Elements before the first one.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The memory.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Where the memory is.
    pub fn place(&self) -> Place {
        self.storage.place()
    }

    /// The address of the first element.
    pub fn data(&self) -> *mut c_void {
        // Within the address space, since `bytes_of` has multiplied it.
        let bytes = usize::try_from(self.offset).unwrap_or_default() * self.dtype.size();
        self.storage.data().wrapping_byte_add(bytes)
    }

    /// Whether the elements lie in the order of their indices without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Bytes from the first element to the end of the last one.
    pub fn span_bytes(&self) -> usize {
        self.layout.span() * self.dtype.size()
    }
}

/// Bytes of a storage that holds a layout at an offset.
fn bytes_of(layout: &Layout, dtype: Dtype, offset: i64) -> Result<usize> {
    let bytes = usize::try_from(offset)
        .ok()
        .and_then(|offset| offset.checked_add(layout.span())?.checked_mul(dtype.size()))
        .filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.ok_or_else(|| {
        invalid(format!(
            "sizes {:?} of {dtype} at offset {offset} have no valid size in bytes",
            layout.sizes()
        ))
    })
}
