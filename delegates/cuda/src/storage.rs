//! Memory of constants, shared by the methods of a loaded model.

use crate::error::cuda;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::{Cuda, Device, DeviceBuffer};
use executorch_delegate::NamedData;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A piece of host memory that is aligned as AOTInductor's kernels for the CPU like it.
#[repr(align(64))]
#[derive(Debug, Clone, Copy)]
struct Line(#[allow(dead_code, reason = "read by the compiled model")] [u8; 64]);

/// A constant's memory.
#[derive(Debug)]
enum Memory {
    Device(DeviceBuffer),
    Host(Vec<Line>),
}

/// The bytes of a constant, where its model wants them. A model may change them: buffers that it mutates are constants too.
#[derive(Debug)]
pub struct Storage {
    memory: Memory,
    bytes: usize,
}

impl Storage {
    /// Copies bytes to the device, or to host memory if there is none.
    fn new(library: &'static Cuda, device: Option<Device>, bytes: &[u8]) -> Result<Self> {
        let memory = match device {
            Some(device) => {
                let mut buffer = DeviceBuffer::new(library, device, bytes.len()).map_err(cuda)?;
                buffer.write(bytes).map_err(cuda)?;
                Memory::Device(buffer)
            }
            None => {
                let line = |chunk: &[u8]| {
                    let mut line = [0; 64];
                    line.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                    Line(line)
                };
                Memory::Host(bytes.chunks(64).map(line).collect())
            }
        };
        Ok(Self { memory, bytes: bytes.len() })
    }

    /// Its first byte. Not null.
    pub fn as_ptr(&self) -> *mut c_void {
        match &self.memory {
            Memory::Device(buffer) => buffer.as_ptr(),
            Memory::Host(lines) => lines.as_ptr().cast_mut().cast(),
        }
    }

    /// Its size.
    pub fn len(&self) -> usize {
        self.bytes
    }
}

/// What tells a storage from all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    /// See [`scope`].
    scope: usize,
    key: String,
    device: Option<Device>,
}

static STORAGES: Mutex<Option<HashMap<Identity, Weak<Storage>>>> = Mutex::new(None);

/// What methods of one loaded model have in common, and no others as long as one of them is loaded: the place of their
/// first key.
pub fn scope(named_data: &NamedData<'_>) -> usize {
    named_data.keys().next().map_or(0, |key| key.as_ptr().addr())
}

/// The storage of a key, which another method may have loaded already.
pub fn acquire(
    library: &'static Cuda,
    named_data: &NamedData<'_>,
    scope: usize,
    key: &str,
    device: Option<Device>,
    bytes: usize,
) -> Result<Arc<Storage>> {
    let identity = Identity { scope, key: key.to_owned(), device };
    // Held while the bytes are copied, so that nobody does it twice.
    let mut guard = STORAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let storages = guard.get_or_insert_default();
    let wrong = |found: usize| {
        Error::new(
            ET_ERROR_INVALID_PROGRAM,
            format!("the named data {key:?} has {found} bytes, the delegate's list says {bytes}"),
        )
    };
    if let Some(storage) = storages.get(&identity).and_then(Weak::upgrade) {
        return if storage.len() == bytes { Ok(storage) } else { Err(wrong(storage.len())) };
    }
    let data = named_data.get(key)?;
    if data.len() != bytes {
        return Err(wrong(data.len()));
    }
    let storage = Arc::new(Storage::new(library, device, &data)?);
    storages.retain(|_, storage| storage.strong_count() > 0);
    storages.insert(identity, Arc::downgrade(&storage));
    Ok(storage)
}
