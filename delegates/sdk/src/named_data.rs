//! Named data of the program and of its external data files.

use crate::{Buffer, Dtype, Error, Result};
use executorch_abi::data_map::{et_data_map_t, et_tensor_layout_t};
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use std::ffi::{CStr, CString};
use std::ptr;

/// The named data of the program and of the `.ptd` files that the caller gave, as one map. It is there as long as the
/// method; it may be kept in the handle and asked from any thread.
#[derive(Debug, Clone, Copy)]
pub struct NamedData<'m> {
    map: &'m et_data_map_t,
}

// SAFETY: the ABI asks that a map's functions are thread-safe.
unsafe impl Send for NamedData<'_> {}
// SAFETY: as above.
unsafe impl Sync for NamedData<'_> {}

/// How a tensor in a `.ptd` file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorLayout<'m> {
    /// The element type.
    pub dtype: Dtype,
    /// The sizes, outermost first.
    pub sizes: &'m [i32],
    /// The dimension numbers, outermost in memory first.
    pub dim_order: &'m [u8],
    /// Bytes of the whole tensor.
    pub nbytes: u64,
}

impl<'m> NamedData<'m> {
    /// # Safety
    /// `map` obeys the ABI during `'m`.
    pub(crate) unsafe fn new(map: &'m et_data_map_t) -> Self {
        Self { map }
    }

    /// The bytes of a key; `ET_ERROR_NOT_FOUND` names it if there is none. Nothing is copied where the file is mapped.
    pub fn get(&self, key: &str) -> Result<Buffer<'m>> {
        let name = to_c(key)?;
        let data = self.map.data.ok_or_else(|| incomplete("data"))?;
        let mut out = et_buffer_t { data: ptr::null(), size: 0, free: None, context: ptr::null_mut() };
        // SAFETY: the map obeys the ABI; the key is NUL-terminated, and there is a place for the buffer.
        Error::check(unsafe { data(self.map.user_data, name.as_ptr(), &mut out) })
            .map_err(|e| e.within(place(key)))?;
        // SAFETY: the map gave the buffer to this call. What it points to lives in the map, which is there during `'m`.
        Ok(unsafe { Buffer::new(out) })
    }

    /// Whether there is data under a key.
    pub fn contains(&self, key: &str) -> bool {
        self.keys().any(|k| k == key)
    }

    /// Copies the first bytes of a key to `destination`, straight from the file where the map can.
    pub fn load_into(&self, key: &str, destination: &mut [u8]) -> Result<()> {
        let Some(load) = self.map.load_into else {
            let buffer = self.get(key)?;
            let bytes = buffer.get(..destination.len()).ok_or_else(|| {
                let text = format!("has {} bytes, {} were asked for", buffer.len(), destination.len());
                Error::new(ET_ERROR_INVALID_EXTERNAL_DATA, text).within(place(key))
            })?;
            destination.copy_from_slice(bytes);
            return Ok(());
        };
        let name = to_c(key)?;
        let (data, size) = (destination.as_mut_ptr().cast(), destination.len());
        // SAFETY: the map obeys the ABI; the key is NUL-terminated, and the destination has the size that is said.
        Error::check(unsafe { load(self.map.user_data, name.as_ptr(), data, size) })
            .map_err(|e| e.within(place(key)))
    }

    /// The layout of a tensor in a `.ptd` file; `ET_ERROR_NOT_SUPPORTED` if the key's data is a blob.
    pub fn layout(&self, key: &str) -> Result<TensorLayout<'m>> {
        let name = to_c(key)?;
        let layout = self.map.layout.ok_or_else(|| incomplete("layout"))?;
        let mut out = et_tensor_layout_t {
            sizes: ptr::null(),
            dim_order: ptr::null(),
            rank: 0,
            nbytes: 0,
            dtype: 0,
            reserved: [0; 7],
        };
        // SAFETY: as for `get`.
        Error::check(unsafe { layout(self.map.user_data, name.as_ptr(), &mut out) })
            .map_err(|e| e.within(place(key)))?;
        let dtype = Dtype::from_raw(out.dtype).ok_or_else(|| {
            let text = format!("{} is no dtype", out.dtype);
            Error::new(ET_ERROR_INVALID_EXTERNAL_DATA, text).within(place(key))
        })?;
        // SAFETY: a map's layout holds `rank` entries of each, which live as long as it.
        let (sizes, dim_order) = unsafe { (entries(out.sizes, out.rank), entries(out.dim_order, out.rank)) };
        Ok(TensorLayout { dtype, sizes, dim_order, nbytes: out.nbytes })
    }

    /// The keys, in the map's order.
    pub fn keys(&self) -> impl Iterator<Item = &'m str> + use<'m> {
        let map = self.map;
        // SAFETY: the map obeys the ABI, here and below.
        let count = map.count.map_or(0, |count| unsafe { count(map.user_data) });
        (0..count).filter_map(move |index| {
            // SAFETY: as above.
            let key = map.key.map_or(ptr::null(), |key| unsafe { key(map.user_data, index) });
            // SAFETY: keys are NUL-terminated and live as long as the map; null past the end.
            if key.is_null() { None } else { unsafe { CStr::from_ptr(key) }.to_str().ok() }
        })
    }
}

/// # Safety
/// `data` is null or holds `count` entries during `'m`.
unsafe fn entries<'m, T>(data: *const T, count: usize) -> &'m [T] {
    if data.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, count) }
}

fn place(key: &str) -> String {
    format!("the named data {key:?}")
}

fn to_c(key: &str) -> Result<CString> {
    CString::new(key)
        .map_err(|_| Error::new(ET_ERROR_NOT_FOUND, format!("{key:?} contains NUL, so no data has this key")))
}

fn incomplete(function: &str) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the data map lacks its {function} function"))
}
