//! Giving a container its constants: from named data one by one, or from one file, shared with other methods or not.

use crate::container::{Constant, Container};
use crate::error::cuda;
use crate::library::Pair;
use crate::payload::Weight;
use crate::shim::{Blob, Tensor};
use crate::storage::{self, Storage};
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::{Cuda, Device};
use executorch_delegate::NamedData;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What must live as long as a container whose constants are bound to it.
#[derive(Debug, Default)]
pub struct Held {
    /// The views that the container was given.
    tensors: Vec<Tensor>,
    storages: Vec<Arc<Storage>>,
    lenders: Vec<Arc<Container>>,
}

/// Where constants come from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a, 'm> {
    /// CUDA.
    pub library: &'static Cuda,
    /// The device that the container was made for.
    pub device: Device,
    /// The program's named data, and that of its files.
    pub named_data: &'a NamedData<'m>,
}

/// Binds the constants of a list, one named datum for each.
pub fn from_list(container: &Container, source: Source<'_, '_>, weights: &[Weight]) -> Result<Held> {
    let Some(constants) = container.constants()?.filter(|_| container.can_bind()) else {
        return Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            "the compiled model does not tell of its constants, which its list needs; export it with PyTorch 2.9 or newer",
        ));
    };
    if weights.is_empty() && constants.iter().all(|constant| constant.is_folded) {
        return Ok(Held::default());
    }
    let mut by_name: HashMap<&str, Vec<&Constant>> = HashMap::new();
    for constant in constants.iter().filter(|constant| !constant.model_name.is_empty()) {
        by_name.entry(&constant.model_name).or_default().push(constant);
    }
    let scope = storage::scope(source.named_data);
    let mut held = Held::default();
    let mut pairs = Vec::new();
    for weight in weights {
        let own = by_name.remove(weight.name.as_str()).ok_or_else(|| {
            Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("the compiled model has no constant {:?}, or the list names it twice", weight.name),
            )
        })?;
        let expected = i32::from(weight.dtype as i8);
        if let Some(other) = own.iter().find_map(|constant| constant.dtype.filter(|&dtype| dtype != expected))
        {
            return Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!(
                    "the constant {:?} is of {} in the list, and of element type {other} in the compiled model",
                    weight.name, weight.dtype
                ),
            ));
        }
        let device = weight.on_device.then_some(source.device);
        let storage =
            storage::acquire(source.library, source.named_data, scope, &weight.storage, device, weight.bytes)
                .map_err(|e| missing(e, &weight.storage))?;
        let blob = Blob {
            data: storage.as_ptr(),
            sizes: &weight.sizes,
            strides: &weight.strides,
            offset: weight.offset,
            dtype: expected,
            device: device.map(|device| device.0),
        };
        // SAFETY: the view lies in the storage, as the payload's reader checked; both are held.
        let tensor = unsafe { Tensor::over(blob) }?;
        pairs.extend(
            own.iter().map(|constant| Pair { name: constant.name.as_ptr(), handle: tensor.as_raw() }),
        );
        held.tensors.push(tensor);
        held.storages.push(storage);
    }
    // SAFETY: the tensors are what the exporter wrote for these constants; the caller holds them.
    unsafe { container.bind(&pairs, true) }?;
    Ok(held)
}

/// Loads the constants of one file into the container's own memory.
pub fn from_blob(container: &Container, source: Source<'_, '_>, key: &str) -> Result<()> {
    let constants = container.constants()?;
    let known = |c: &Constant| if c.is_folded { Some(0) } else { c.bytes };
    let needed = constants.as_ref().and_then(|constants| {
        constants.iter().map(known).try_fold(0_usize, |sum, bytes| sum.checked_add(bytes?))
    });
    let data = match source.named_data.get(key) {
        Ok(data) => data,
        Err(error) if error.code == ET_ERROR_NOT_FOUND => {
            // A model without constants has no file; one that cannot tell is trusted.
            return if needed.unwrap_or(0) == 0 { Ok(()) } else { Err(missing(error, key)) };
        }
        Err(error) => return Err(error),
    };
    if let Some(needed) = needed.filter(|&needed| needed > data.len()) {
        return Err(Error::new(
            ET_ERROR_INVALID_EXTERNAL_DATA,
            format!(
                "the named data {key:?} has {} bytes, the constants of the compiled model {needed}",
                data.len()
            ),
        ));
    }
    if needed == Some(0) && constants.is_some_and(|constants| constants.is_empty()) {
        return Ok(());
    }
    if !container.load_blob(&data)? {
        return Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            "the compiled model cannot load its constants from a file; export it with PyTorch 2.9 or newer",
        ));
    }
    // The copies read the data.
    source.device.synchronize(source.library).map_err(cuda)
}

/// A constant in the memory of a container that others may use.
struct Lent {
    owner: Weak<Container>,
    dtype: i32,
    bytes: Option<usize>,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    data: usize,
    on_device: bool,
    device: Device,
}

static LENT: Mutex<Option<HashMap<(usize, String), Lent>>> = Mutex::new(None);

/// [`from_blob`], but constants that another method of the model has loaded already are used where they are; if all are, the
/// file is not read.
pub fn from_shared_blob(container: &Arc<Container>, source: Source<'_, '_>, key: &str) -> Result<Held> {
    let Some(constants) = container.constants()?.filter(|_| container.can_bind()) else {
        return from_blob(container, source, key).map(|()| Held::default());
    };
    let scope = storage::scope(source.named_data);
    // Held while constants are loaded, so that nobody does it twice.
    let mut guard = LENT.lock().unwrap_or_else(PoisonError::into_inner);
    let lent = guard.get_or_insert_default();
    lent.retain(|_, lent| lent.owner.strong_count() > 0);
    let fits = |constant: &Constant, lent: &Lent| {
        lent.device == source.device
            && constant.dtype.is_none_or(|dtype| dtype == lent.dtype)
            && (constant.bytes.is_none() || lent.bytes.is_none() || constant.bytes == lent.bytes)
    };
    let wanted = || constants.iter().filter(|constant| !constant.is_folded);
    let is_complete = wanted().all(|constant| {
        !constant.model_name.is_empty()
            && lent.get(&(scope, constant.model_name.clone())).is_some_and(|lent| fits(constant, lent))
    });
    // Shapes that this method's own constants have, which others' must have too.
    let mut shapes = HashMap::new();
    if !is_complete {
        from_blob(container, source, key)?;
        container.extract(|name, view| {
            let size =
                wanted().find(|constant| constant.model_name == name).and_then(|constant| constant.bytes);
            let own = Lent {
                owner: Arc::downgrade(container),
                dtype: view.dtype,
                bytes: size,
                sizes: view.sizes.to_vec(),
                strides: view.strides.to_vec(),
                data: view.data.expose_provenance(),
                on_device: view.on_device,
                device: source.device,
            };
            shapes.insert(name.to_owned(), (own.sizes.clone(), own.strides.clone()));
            let place = (scope, name.to_owned());
            match lent.get(&place) {
                // One of another kind stays the other method's, and this method keeps its own.
                Some(_) => {}
                None if name.is_empty() => {}
                None => drop(lent.insert(place, own)),
            }
            Ok(())
        })?;
    }
    let mut held = Held::default();
    let mut pairs = Vec::new();
    for constant in wanted() {
        let Some(lent) = lent.get(&(scope, constant.model_name.clone())) else { continue };
        let Some(owner) = lent.owner.upgrade().filter(|owner| !Arc::ptr_eq(owner, container)) else {
            continue;
        };
        let shape = shapes.get(&constant.model_name);
        if !fits(constant, lent)
            || shape.is_some_and(|(sizes, strides)| (sizes, strides) != (&lent.sizes, &lent.strides))
        {
            continue;
        }
        let blob = Blob {
            data: std::ptr::with_exposed_provenance_mut(lent.data),
            sizes: &lent.sizes,
            strides: &lent.strides,
            offset: 0,
            dtype: lent.dtype,
            device: lent.on_device.then_some(lent.device.0),
        };
        // SAFETY: the memory is its owner's, which is held.
        let tensor = unsafe { Tensor::over(blob) }?;
        pairs.push(Pair { name: constant.name.as_ptr(), handle: tensor.as_raw() });
        held.tensors.push(tensor);
        held.lenders.push(owner);
    }
    if !pairs.is_empty() {
        // SAFETY: same name, element type and size, in methods of one model; the caller holds the tensors.
        unsafe { container.bind(&pairs, false) }?;
    }
    Ok(held)
}

fn missing(error: Error, key: &str) -> Error {
    if error.code != ET_ERROR_NOT_FOUND {
        return error;
    }
    Error::new(
        ET_ERROR_NOT_FOUND,
        format!(
            "the constants under the key {key:?} are missing: give the .ptd file that was written with the program \
             (aoti_cuda_blob.ptd) when it is loaded"
        ),
    )
}

/// The names of a container's constants by their names in the model.
pub fn names(constants: &[Constant]) -> HashMap<&str, &CString> {
    let named = constants.iter().filter(|constant| !constant.model_name.is_empty());
    named.map(|constant| (constant.model_name.as_str(), &constant.name)).collect()
}
