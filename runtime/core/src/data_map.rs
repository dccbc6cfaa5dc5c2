//! Named data: of a program, of a `.ptd` file, and several maps as one; and the ABI's table over each.

use crate::capi::{code, give, string};
use crate::format::{FlatTensorHeader, NamedTensor, parse_flat_tensor};
use crate::program::Program;
use crate::source::{Buffer, Loader, Segment, in_memory};
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::program::ET_HEADER_MIN_BYTES;
use executorch_abi::{Dtype, Error, Result};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// A map from names to data; the table's functions call it.
trait Map: Send + Sync + 'static {
    fn layout(&self, key: &CStr) -> Result<et_tensor_layout_t>;
    fn data(&self, key: &CStr) -> Result<Buffer>;
    fn keys(&self) -> &[CString];

    /// Where the text of a key lies; null past the end. Maps over others tell the others' place, so that maps that are made
    /// of the same ones can be known by it.
    fn place(&self, index: usize) -> *const c_char {
        self.keys().get(index).map_or(ptr::null(), |key| key.as_ptr())
    }
}

fn unknown(key: &CStr) -> Error {
    Error::new(ET_ERROR_NOT_FOUND, format!("there is no data under the key {key:?}"))
}

/// A `.ptd` file.
struct FlatTensorMap {
    entries: HashMap<CString, NamedTensor>,
    keys: Vec<CString>,
    loader: Loader,
}

impl Map for FlatTensorMap {
    fn layout(&self, key: &CStr) -> Result<et_tensor_layout_t> {
        let entry = self.entries.get(key).ok_or_else(|| unknown(key))?;
        let (dtype, sizes, dim_order) = entry.layout.as_ref().ok_or_else(|| {
            Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!("the data {key:?} is a blob without a tensor's layout"),
            )
        })?;
        let numel: u64 = sizes.iter().map(|&s| s.unsigned_abs() as u64).product();
        Ok(et_tensor_layout_t {
            sizes: sizes.as_ptr(),
            dim_order: dim_order.as_ptr(),
            rank: sizes.len(),
            nbytes: numel * dtype.size() as u64,
            dtype: *dtype as i8,
            reserved: [0; 7],
        })
    }

    fn data(&self, key: &CStr) -> Result<Buffer> {
        let entry = self.entries.get(key).ok_or_else(|| unknown(key))?;
        let segment = Segment { kind: ET_SEGMENT_EXTERNAL, index: 0, name: Some(key) };
        self.loader.load(entry.range.offset, in_memory(entry.range.size)?, segment)
    }

    fn keys(&self) -> &[CString] {
        &self.keys
    }
}

/// Reads a `.ptd` file; the receiver owns the map.
pub fn load(loader: Loader) -> Result<et_data_map_t> {
    let bad = |e: Error| Error::new(ET_ERROR_INVALID_EXTERNAL_DATA, e.message);
    let size = loader.size()?;
    let segment = Segment { kind: ET_SEGMENT_EXTERNAL, index: 0, name: None };
    let head_size = size.min(ET_HEADER_MIN_BYTES as u64) as usize;
    let head = loader.load(0, head_size, segment)?;
    let header = FlatTensorHeader::parse(head.bytes().get(..head_size).unwrap_or_default(), size)?;
    drop(head);
    let structure_size = in_memory(header.structure_size)?;
    let structure = loader.load(0, structure_size, segment)?;
    let bytes = structure.bytes().get(..structure_size).unwrap_or_default();
    let entries = parse_flat_tensor(bytes, header).map_err(bad)?;
    drop(structure);
    let mut keys: Vec<CString> = entries.keys().cloned().collect();
    keys.sort();
    Ok(table(FlatTensorMap { entries, keys, loader }))
}

/// The named blobs of a program, which must outlive it.
struct ProgramMap {
    program: *const Program,
    keys: Vec<CString>,
}

// SAFETY: a program is immutable and may be used from any thread.
unsafe impl Send for ProgramMap {}
// SAFETY: as above.
unsafe impl Sync for ProgramMap {}

impl Map for ProgramMap {
    fn layout(&self, key: &CStr) -> Result<et_tensor_layout_t> {
        if !self.keys.iter().any(|k| k.as_c_str() == key) {
            return Err(unknown(key));
        }
        Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            format!("the program's data {key:?} is a blob without a layout"),
        ))
    }

    fn data(&self, key: &CStr) -> Result<Buffer> {
        // SAFETY: the program outlives its map.
        let program = unsafe { &*self.program };
        let layout = program.layout();
        let found =
            layout.named_data.iter().find(|(k, _)| k.as_c_str() == key).ok_or_else(|| unknown(key))?;
        let range = layout.segments.get(found.1 as usize).ok_or_else(|| unknown(key))?;
        let segment = Segment { kind: ET_SEGMENT_BACKEND, index: found.1 as usize, name: Some(key) };
        program.loader().load(range.offset, in_memory(range.size)?, segment)
    }

    fn keys(&self) -> &[CString] {
        &self.keys
    }

    fn place(&self, index: usize) -> *const c_char {
        // SAFETY: the program outlives its map, whose keys have the same order.
        let program = unsafe { &*self.program };
        program.layout().named_data.get(index).map_or(ptr::null(), |(key, _)| key.as_ptr())
    }
}

/// The map over a program's named blobs.
///
/// # Safety
/// `program` outlives the map.
pub unsafe fn of_program(program: *const Program) -> et_data_map_t {
    // SAFETY: the caller's promise.
    let keys = unsafe { &*program }.layout().named_data.iter().map(|(key, _)| key.clone()).collect();
    table(ProgramMap { program, keys })
}

/// Several maps as one.
struct MergedMap {
    owners: HashMap<CString, (DataMap, Place)>,
    keys: Vec<CString>,
}

/// The text of a key in the map that has it.
#[derive(Clone, Copy)]
struct Place(*const c_char);

// SAFETY: a constant text of a map, which any thread may read as long as the map.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Map for MergedMap {
    fn layout(&self, key: &CStr) -> Result<et_tensor_layout_t> {
        self.owners.get(key).ok_or_else(|| unknown(key))?.0.layout(key)
    }

    fn data(&self, key: &CStr) -> Result<Buffer> {
        self.owners.get(key).ok_or_else(|| unknown(key))?.0.data(key)
    }

    fn keys(&self) -> &[CString] {
        &self.keys
    }

    fn place(&self, index: usize) -> *const c_char {
        let owner = self.keys.get(index).and_then(|key| self.owners.get(key));
        owner.map_or(ptr::null(), |(_, place)| place.0)
    }
}

/// Several maps as one; their keys must differ.
///
/// # Safety
/// The maps outlive the result.
pub unsafe fn merge(maps: &[*const et_data_map_t]) -> Result<et_data_map_t> {
    let mut owners = HashMap::new();
    for &map in maps {
        // SAFETY: the caller's promise.
        let map = unsafe { DataMap::new(map) }?;
        for (key, place) in map.keys_and_places() {
            if owners.insert(key.clone(), (map, place)).is_some() {
                return Err(Error::new(
                    ET_ERROR_INVALID_ARGUMENT,
                    format!("two of the data maps have the key {key:?}; give each name once"),
                ));
            }
        }
    }
    let mut keys: Vec<CString> = owners.keys().cloned().collect();
    keys.sort();
    Ok(table(MergedMap { owners, keys }))
}

/// A map of the ABI, owned, with the part that it borrows from.
pub struct OwnedMap {
    table: et_data_map_t,
    part: Option<Box<OwnedMap>>,
}

// SAFETY: the ABI asks that a map's functions are thread-safe, and `destroy` may run on any thread.
unsafe impl Send for OwnedMap {}
// SAFETY: as above.
unsafe impl Sync for OwnedMap {}

impl OwnedMap {
    /// Takes a map over.
    ///
    /// # Safety
    /// Nobody else destroys the map, and what it borrows from outlives it.
    pub unsafe fn new(table: et_data_map_t) -> Box<Self> {
        Box::new(Self { table, part: None })
    }

    /// A map that borrows from `part`.
    ///
    /// # Safety
    /// As for [`OwnedMap::new`].
    pub unsafe fn over(table: et_data_map_t, part: Box<OwnedMap>) -> Self {
        Self { table, part: Some(part) }
    }

    /// The map, borrowed.
    pub fn raw(&self) -> *const et_data_map_t {
        &self.table
    }
}

impl Drop for OwnedMap {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy {
            // SAFETY: the map is owned, so this is the one call of `destroy`; its part is still alive.
            unsafe { destroy(self.table.user_data) }
        }
        drop(self.part.take());
    }
}

/// A map of the ABI, borrowed.
#[derive(Clone, Copy)]
pub struct DataMap {
    raw: *const et_data_map_t,
}

// SAFETY: the ABI asks that a map's functions are thread-safe.
unsafe impl Send for DataMap {}
// SAFETY: as above.
unsafe impl Sync for DataMap {}

impl DataMap {
    /// Borrows a map.
    ///
    /// # Safety
    /// `raw` is null or a valid map that outlives every copy of the result.
    pub unsafe fn new(raw: *const et_data_map_t) -> Result<Self> {
        // SAFETY: the caller's promise.
        let complete = unsafe { raw.as_ref() }.is_some_and(|map| {
            map.struct_size as usize >= size_of::<et_data_map_t>()
                && map.layout.is_some()
                && map.data.is_some()
                && map.count.is_some()
                && map.key.is_some()
        });
        if complete {
            return Ok(Self { raw });
        }
        Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "the data map is null or lacks one of its functions"))
    }

    fn table(&self) -> &et_data_map_t {
        // SAFETY: the contract of `new`.
        unsafe { &*self.raw }
    }

    /// The layout of a key. Its pointers live as long as the map.
    pub fn layout(&self, key: &CStr) -> Result<et_tensor_layout_t> {
        let mut out = et_tensor_layout_t {
            sizes: ptr::null(),
            dim_order: ptr::null(),
            rank: 0,
            nbytes: 0,
            dtype: 0,
            reserved: [0; 7],
        };
        let function = self.table().layout.ok_or_else(|| unknown(key))?;
        // SAFETY: the map obeys the ABI; `out` is a place for the layout.
        Error::check(unsafe { function(self.table().user_data, key.as_ptr(), &mut out) })?;
        Ok(out)
    }

    /// The bytes of a key.
    pub fn data(&self, key: &CStr) -> Result<Buffer> {
        let mut out = et_buffer_t { data: ptr::null(), size: 0, free: None, context: ptr::null_mut() };
        let function = self.table().data.ok_or_else(|| unknown(key))?;
        // SAFETY: the map obeys the ABI; `out` is a place for the buffer, which is then owned.
        unsafe {
            Error::check(function(self.table().user_data, key.as_ptr(), &mut out))?;
            Ok(Buffer::new(out))
        }
    }

    /// The keys.
    pub fn keys(&self) -> Vec<CString> {
        self.keys_and_places().into_iter().map(|(key, _)| key).collect()
    }

    fn keys_and_places(&self) -> Vec<(CString, Place)> {
        let (Some(count), Some(key)) = (self.table().count, self.table().key) else {
            return Vec::new();
        };
        // SAFETY: the map obeys the ABI: keys are NUL-terminated, or null past the end.
        let at = |i| unsafe {
            let text = key(self.table().user_data, i);
            (!text.is_null()).then(|| (CStr::from_ptr(text).to_owned(), Place(text)))
        };
        // SAFETY: as above.
        (0..unsafe { count(self.table().user_data) }).map_while(at).collect()
    }
}

fn table<M: Map>(map: M) -> et_data_map_t {
    et_data_map_t {
        struct_size: size_of::<et_data_map_t>() as u32,
        reserved: 0,
        user_data: Box::into_raw(Box::new(map)).cast(),
        layout: Some(layout::<M>),
        data: Some(data::<M>),
        load_into: Some(load_into::<M>),
        count: Some(count::<M>),
        key: Some(key::<M>),
        destroy: Some(destroy::<M>),
    }
}

/// # Safety
/// `user_data` is what [`table`] boxed, alive until `destroy`.
unsafe fn map<'a, M: Map>(user_data: *mut c_void) -> &'a M {
    // SAFETY: the caller's promise.
    unsafe { &*user_data.cast::<M>() }
}

unsafe extern "C" fn layout<M: Map>(
    user_data: *mut c_void,
    key: *const c_char,
    out: *mut et_tensor_layout_t,
) -> et_error_t {
    // SAFETY: the table's user data; the caller gives a key and a place for the layout.
    code(unsafe { string(key, "key").and_then(|k| map::<M>(user_data).layout(k)).and_then(|l| give(out, l)) })
}

unsafe extern "C" fn data<M: Map>(
    user_data: *mut c_void,
    key: *const c_char,
    out: *mut et_buffer_t,
) -> et_error_t {
    // SAFETY: as for `layout`.
    code(unsafe {
        string(key, "key").and_then(|k| map::<M>(user_data).data(k)).and_then(|b| give(out, b.into_raw()))
    })
}

unsafe extern "C" fn load_into<M: Map>(
    user_data: *mut c_void,
    key: *const c_char,
    destination: *mut c_void,
    size: usize,
) -> et_error_t {
    // SAFETY: as for `layout`.
    let buffer = unsafe { string(key, "key").and_then(|k| map::<M>(user_data).data(k)) };
    code(buffer.and_then(|buffer| {
        let bytes = buffer.bytes().get(..size).ok_or_else(|| {
            Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("{size} bytes were asked for, but the data has {}", buffer.bytes().len()),
            )
        })?;
        if size > 0 {
            // SAFETY: the caller's destination holds `size` bytes.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), destination.cast(), size) };
        }
        Ok(())
    }))
}

unsafe extern "C" fn count<M: Map>(user_data: *mut c_void) -> usize {
    // SAFETY: the table's user data.
    unsafe { map::<M>(user_data) }.keys().len()
}

unsafe extern "C" fn key<M: Map>(user_data: *mut c_void, index: usize) -> *const c_char {
    // SAFETY: the table's user data.
    unsafe { map::<M>(user_data) }.place(index)
}

unsafe extern "C" fn destroy<M: Map>(user_data: *mut c_void) {
    // SAFETY: the table's user data, and this is the one call of `destroy`.
    drop(unsafe { Box::from_raw(user_data.cast::<M>()) });
}

/// What a tensor of a program must find under its name.
pub fn check_layout(
    key: &CStr,
    found: &et_tensor_layout_t,
    dtype: Dtype,
    sizes: &[i32],
    dim_order: &[u8],
) -> Result<()> {
    // SAFETY: a map's layout holds `rank` sizes and dimension numbers.
    let (found_sizes, found_order) = unsafe {
        if found.rank == 0 || found.sizes.is_null() || found.dim_order.is_null() {
            (&[][..], &[][..])
        } else {
            (
                std::slice::from_raw_parts(found.sizes, found.rank),
                std::slice::from_raw_parts(found.dim_order, found.rank),
            )
        }
    };
    if found.dtype == dtype as i8 && found_sizes == sizes && found_order == dim_order {
        return Ok(());
    }
    let found_dtype = Dtype::from_raw(found.dtype).map_or("unknown", Dtype::name);
    Err(Error::new(
        ET_ERROR_INVALID_EXTERNAL_DATA,
        format!(
            "the program expects {key:?} as {dtype} of sizes {sizes:?} and dim order {dim_order:?}, but the data file \
             has {found_dtype} of sizes {found_sizes:?} and dim order {found_order:?}; use the .ptd that was exported \
             with the program"
        ),
    ))
}
