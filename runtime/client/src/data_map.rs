//! External data files (`.ptd`).

use crate::source::{LoadMode, Source};
use crate::text;
use executorch_abi::data_map::{et_data_map_load, et_data_map_t};
use executorch_abi::{Error, Result};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

/// The contents of a `.ptd` file, verified. Cloning it shares them; usable from any thread.
#[derive(Clone)]
pub struct DataMap(Arc<Map>);

struct Map(et_data_map_t);

// SAFETY: the functions of a data map are thread-safe by its contract.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Drop for Map {
    fn drop(&mut self) {
        if let Some(destroy) = self.0.destroy {
            // SAFETY: the last user is gone, and the map is destroyed once.
            unsafe { destroy(self.0.user_data) };
        }
    }
}

impl DataMap {
    /// Maps the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::load(Source::open(path.as_ref(), LoadMode::Map)?).map_err(|e| e.within(path.as_ref().display()))
    }

    /// Loads from a source.
    pub fn load(source: Source) -> Result<Self> {
        let mut map = et_data_map_t {
            struct_size: size_of::<et_data_map_t>() as u32,
            reserved: 0,
            user_data: null_mut(),
            layout: None,
            data: None,
            load_into: None,
            count: None,
            key: None,
            destroy: None,
        };
        // SAFETY: the loader is given away, and there is a place for the map.
        source.give(|loader| Error::check(unsafe { et_data_map_load(loader, &mut map) }))?;
        Ok(Self(Arc::new(Map(map))))
    }

    /// The names of all data in the file.
    pub fn keys(&self) -> Vec<String> {
        // SAFETY: the map lives as long as `self`.
        unsafe { keys(self.raw()) }
    }

    /// The map as the ABI takes it; valid as long as `self` or a clone of it.
    pub(crate) fn raw(&self) -> *const et_data_map_t {
        &self.0.0
    }
}

impl std::fmt::Debug for DataMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DataMap").field(&self.keys()).finish()
    }
}

/// The keys of a map.
///
/// # Safety
/// `map` is null or a valid map.
pub unsafe fn keys(map: *const et_data_map_t) -> Vec<String> {
    // SAFETY: the caller's promise.
    let Some(map) = (unsafe { map.as_ref() }) else { return Vec::new() };
    let (Some(count), Some(key)) = (map.count, map.key) else { return Vec::new() };
    // SAFETY: the map's own functions with its own data; keys are NUL-terminated and live as long as the map.
    unsafe { (0..count(map.user_data)).filter_map(|i| text::from_c(key(map.user_data, i))).collect() }
}
