//! The process's one registry of kernels, backends and device allocators.
//!
//! Registration happens in static initialisers, so it never panics and never prints: what is refused is kept as a
//! message for whoever loads a program next.

use executorch_abi::backend::et_backend_t;
use executorch_abi::device::et_device_allocator_t;
use executorch_abi::error::*;
use executorch_abi::kernel::et_kernel_t;
use executorch_abi::registration::*;
use executorch_abi::tensor::{ET_DEVICE_CPU, ET_DEVICE_CUDA};
use executorch_abi::{Error, Result};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The runtime's version.
pub const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"unknown",
    };

/// A registered kernel.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its table's entry.
    pub table: et_kernel_t,
    /// Its name.
    pub name: CString,
    /// The dtypes and dim orders that it serves; none for all.
    pub key: Option<CString>,
    /// The kinds of its arguments; none if they are unchecked.
    pub signature: Option<CString>,
    /// Whose it is, for messages: one text for all of a table.
    library: Arc<str>,
}

// SAFETY: the ABI asks that a kernel's table and user data may be used from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// Most kernels of a table that room is made for at once.
const RESERVED: usize = 4096;

/// Bytes of the smallest table of a backend that is taken: what came after the first release may be missing.
const SMALLEST_BACKEND: usize = std::mem::offset_of!(et_backend_t, describe);

struct Backend {
    /// The table as it was given, which may be smaller than the type.
    given: *const et_backend_t,
    /// The whole table: what was not given is null.
    table: et_backend_t,
    name: CString,
    library: String,
}

// SAFETY: the ABI asks that a backend's functions and user data may be used from any thread.
unsafe impl Send for Backend {}
// SAFETY: as above.
unsafe impl Sync for Backend {}

/// Bytes of the smallest table of a device allocator that is taken: what comes behind may be missing.
const SMALLEST_ALLOCATOR: usize = std::mem::offset_of!(et_device_allocator_t, copy_on_device);

struct DeviceAllocator {
    /// The table as it was given, which may be smaller than the type.
    given: *const et_device_allocator_t,
    /// The whole table: what was not given is null.
    table: et_device_allocator_t,
    library: String,
}

// SAFETY: the ABI asks that an allocator's functions and user data may be used from any thread.
unsafe impl Send for DeviceAllocator {}
// SAFETY: as above.
unsafe impl Sync for DeviceAllocator {}

#[derive(Default)]
struct Registry {
    // Entries are never removed, and leaked so that names can be handed out for the life of the process.
    kernels: Vec<&'static Kernel>,
    by_name: HashMap<&'static CStr, Vec<&'static Kernel>>,
    backends: Vec<&'static Backend>,
    devices: Vec<&'static DeviceAllocator>,
    errors: Vec<&'static CStr>,
}

static REGISTRY: RwLock<Option<Registry>> = RwLock::new(None);

fn read() -> RwLockReadGuard<'static, Option<Registry>> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(use_it: impl FnOnce(&mut Registry) -> T) -> T {
    let mut guard: RwLockWriteGuard<'_, _> = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    use_it(guard.get_or_insert_default())
}

/// Who registers, checked against this runtime.
struct Origin {
    component: String,
    library: String,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.component, self.library)
    }
}

/// # Safety
/// `registration` is null or valid, and its strings are null or NUL-terminated.
unsafe fn handshake(registration: *const et_registration_t, address: *const c_void) -> Result<Origin> {
    let library = library_of(address);
    // SAFETY: the caller's promise.
    let Some(header) = (unsafe { registration.as_ref() }) else {
        return Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("{library} registers without an et_registration_t; pass one"),
        ));
    };
    if (header.struct_size as usize) < size_of::<et_registration_t>() {
        return Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("{library} registers with an et_registration_t of {} bytes", header.struct_size),
        ));
    }
    // SAFETY: the caller's promise.
    let (name, version) = unsafe { (text(header.component_name), text(header.component_version)) };
    let name = name.map_or_else(|| "a component without a name".into(), |n| n.to_string_lossy().into_owned());
    let version = version.map_or_else(|| "unknown".into(), |v| v.to_string_lossy().into_owned());
    let origin = Origin { component: format!("{name} {version}"), library };
    let ours = VERSION.to_string_lossy();
    let advice = "install releases that belong together";
    if header.abi_major != ET_ABI_MAJOR || header.abi_minor > ET_ABI_MINOR {
        return Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            format!(
                "{origin} was built for ABI {}.{}, but this runtime {ours} has ABI {ET_ABI_MAJOR}.{ET_ABI_MINOR}; {advice}",
                header.abi_major, header.abi_minor
            ),
        ));
    }
    if header.flags & ET_REGISTRATION_LOCKSTEP != 0 && version != ours {
        return Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            format!("{origin} belongs to release {version}, but this runtime is {ours}; {advice}"),
        ));
    }
    Ok(origin)
}

/// The file that holds an address, for messages.
fn library_of(address: *const c_void) -> String {
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: `info` is a place to write to; dladdr looks the address up and does not read it.
    let found = unsafe { libc::dladdr(address, &mut info) };
    // SAFETY: dladdr's name is NUL-terminated and lives as long as the library, which a registration keeps.
    let name = if found == 0 { None } else { unsafe { text(info.dli_fname) } };
    name.map_or_else(|| "an unknown library".into(), |n| n.to_string_lossy().into_owned())
}

/// # Safety
/// `pointer` is null or a NUL-terminated string that lives during `'a`.
unsafe fn text<'a>(pointer: *const std::ffi::c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}

/// Keeps a refusal for later and passes it on.
fn refuse(registry: &mut Registry, error: Error) -> Error {
    let message = CString::new(error.message.replace('\0', "?")).unwrap_or_default();
    registry.errors.push(Box::leak(message.into_boxed_c_str()));
    error
}

/// Registers kernels; what is refused does not keep the others out.
///
/// # Safety
/// The pointers obey the contract of `et_register_kernels`.
pub unsafe fn register_kernels(
    registration: *const et_registration_t,
    kernels: *const et_kernel_t,
    count: usize,
) -> Result<()> {
    with(|registry| {
        // SAFETY: the caller's promise.
        let origin = unsafe { handshake(registration, kernels.cast()) }.map_err(|e| refuse(registry, e))?;
        // Libraries bring hundreds, while a process waits for them.
        let owner: Arc<str> = origin.to_string().into();
        registry.kernels.reserve(count.min(RESERVED));
        registry.by_name.reserve(count.min(RESERVED));
        let mut first = Ok(());
        let mut entry = kernels.cast::<u8>();
        for _ in 0..count {
            // SAFETY: the caller's promise: `entry` is one of the table's entries.
            let result = unsafe { register_kernel(registry, &owner, entry.cast()) };
            match result {
                Ok(stride) => entry = entry.wrapping_add(stride),
                Err((error, stride)) => {
                    let error = refuse(registry, error);
                    first = first.and(Err(error));
                    match stride {
                        Some(stride) => entry = entry.wrapping_add(stride),
                        None => break,
                    }
                }
            }
        }
        first
    })
}

/// An entry of a table of kernels that could not be used, and the distance to the next one if that is known.
type BadEntry = (Error, Option<usize>);

impl Kernel {
    /// Reads an entry of a table, and the distance to the next one.
    ///
    /// # Safety
    /// `entry` is an entry of a table of kernels that obeys the ABI and outlives the result.
    unsafe fn read(
        entry: *const et_kernel_t,
        library: &Arc<str>,
    ) -> std::result::Result<(Self, usize), BadEntry> {
        let bad = |what: String| Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{library} registers {what}"));
        // SAFETY: the caller's promise; `struct_size` is the first field of every version of the entry.
        let stride = unsafe { entry.cast::<u32>().read() } as usize;
        if stride < size_of::<et_kernel_t>() {
            return Err((bad(format!("a kernel whose struct_size is {stride}")), None));
        }
        // SAFETY: the entry is at least as large as the type, by its own word.
        let table = unsafe { entry.read() };
        // SAFETY: the table's strings live as long as it.
        let (name, key, signature) = unsafe { (text(table.name), text(table.key), text(table.signature)) };
        let Some(name) = name.filter(|n| !n.is_empty()) else {
            return Err((bad("a kernel without a name".into()), Some(stride)));
        };
        if table.run.is_none() {
            return Err((bad(format!("{name:?} without a run function")), Some(stride)));
        }
        let kernel = Self {
            table,
            name: name.to_owned(),
            key: key.map(CStr::to_owned),
            signature: signature.map(CStr::to_owned),
            library: Arc::clone(library),
        };
        Ok((kernel, stride))
    }

    /// Reads a table of kernels that are not registered.
    ///
    /// # Safety
    /// `kernels` is a table of `count` kernels that obeys the ABI and outlives the result.
    pub unsafe fn read_all(kernels: *const et_kernel_t, count: usize) -> Result<Vec<Arc<Self>>> {
        let (mut entry, caller) = (kernels, Arc::from("the caller"));
        (0..count)
            .map(|_| {
                if entry.is_null() {
                    return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "the table of kernels is null"));
                }
                // SAFETY: the caller's promise.
                let (kernel, stride) = unsafe { Self::read(entry, &caller) }.map_err(|(error, _)| error)?;
                entry = entry.wrapping_byte_add(stride);
                Ok(Arc::new(kernel))
            })
            .collect()
    }
}

/// Registers one kernel and returns the distance to the next one, also on failure if it is known.
///
/// # Safety
/// `entry` is an entry of a table as `et_register_kernels` asks for.
unsafe fn register_kernel(
    registry: &mut Registry,
    owner: &Arc<str>,
    entry: *const et_kernel_t,
) -> std::result::Result<usize, BadEntry> {
    // SAFETY: the caller's promise.
    let (kernel, stride) = unsafe { Kernel::read(entry, owner) }?;
    let same =
        registry.by_name.get(kernel.name.as_c_str()).and_then(|k| k.iter().find(|k| k.key == kernel.key));
    if let Some(other) = same {
        let identical = other.table.run.map(|f| f as usize) == kernel.table.run.map(|f| f as usize)
            && other.table.user_data == kernel.table.user_data;
        if identical {
            return Ok(stride);
        }
        let text = format!(
            "{owner} registers {:?}, which {} registered already; load only one of them",
            kernel.name, other.library
        );
        return Err((Error::new(ET_ERROR_REGISTRATION_ALREADY_REGISTERED, text), Some(stride)));
    }
    let kernel: &'static Kernel = Box::leak(Box::new(kernel));
    registry.kernels.push(kernel);
    registry.by_name.entry(kernel.name.as_c_str()).or_default().push(kernel);
    Ok(stride)
}

/// A kernel to call: a registered one, or one of a method's own.
#[derive(Debug, Clone)]
pub enum KernelRef {
    /// Registered.
    Registered(&'static Kernel),
    /// Given for one method.
    Own(Arc<Kernel>),
}

impl std::ops::Deref for KernelRef {
    type Target = Kernel;

    fn deref(&self) -> &Kernel {
        match self {
            Self::Registered(kernel) => kernel,
            Self::Own(kernel) => kernel,
        }
    }
}

/// The kernel of a name that serves a key, among a method's own and then among those registered.
pub fn resolve(own: &[Arc<Kernel>], name: &CStr, key: &CStr) -> Option<KernelRef> {
    let named = || own.iter().filter(|k| k.name.as_c_str() == name);
    let found = named().find(|k| k.key.as_deref() == Some(key)).or_else(|| named().find(|k| k.key.is_none()));
    match found {
        Some(kernel) => Some(KernelRef::Own(Arc::clone(kernel))),
        None => find_kernel(name, key).map(KernelRef::Registered),
    }
}

/// The kernel of a name that serves a key (see `et_kernel_t::key`): one registered for it, else for all.
fn find_kernel(name: &CStr, key: &CStr) -> Option<&'static Kernel> {
    let guard = read();
    let kernels = guard.as_ref()?.by_name.get(name)?;
    let exact = kernels.iter().find(|k| k.key.as_deref() == Some(key));
    exact.or_else(|| kernels.iter().find(|k| k.key.is_none())).copied()
}

/// Whether any kernel has this name.
pub fn has_kernel(name: &CStr) -> bool {
    read().as_ref().is_some_and(|r| r.by_name.contains_key(name))
}

/// The number of kernels.
pub fn kernel_count() -> usize {
    read().as_ref().map_or(0, |r| r.kernels.len())
}

/// The name of a kernel.
pub fn kernel_name(index: usize) -> Option<&'static CStr> {
    read().as_ref()?.kernels.get(index).map(|k| k.name.as_c_str())
}

/// Registers a backend.
///
/// # Safety
/// The pointers obey the contract of `et_register_backend`.
pub unsafe fn register_backend(
    registration: *const et_registration_t,
    backend: *const et_backend_t,
) -> Result<()> {
    with(|registry| {
        // SAFETY: the caller's promise.
        let result = unsafe { add_backend(registry, registration, backend) };
        result.map_err(|e| refuse(registry, e))
    })
}

/// # Safety
/// As for [`register_backend`].
unsafe fn add_backend(
    registry: &mut Registry,
    registration: *const et_registration_t,
    backend: *const et_backend_t,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let origin = unsafe { handshake(registration, backend.cast())? };
    let bad =
        |what: &str| Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{origin} registers a backend {what}"));
    if backend.is_null() {
        return Err(bad("without a table"));
    }
    // SAFETY: the caller's promise; `struct_size` is the first field of every version of the table.
    let size = unsafe { backend.cast::<u32>().read() } as usize;
    if size < SMALLEST_BACKEND {
        return Err(bad(&format!("whose struct_size is {size}, expected at least {SMALLEST_BACKEND}")));
    }
    // SAFETY: the table has `size` bytes by its own word, and a table without a name and functions is all zeros.
    let table = unsafe {
        let mut table = MaybeUninit::<et_backend_t>::zeroed();
        let known = size.min(size_of::<et_backend_t>());
        ptr::copy_nonoverlapping(backend.cast::<u8>(), table.as_mut_ptr().cast(), known);
        table.assume_init()
    };
    // SAFETY: the table's strings live as long as the process.
    let name = unsafe { text(table.name) }.filter(|n| !n.is_empty()).ok_or_else(|| bad("without a name"))?;
    if table.init.is_none() || table.execute.is_none() {
        return Err(bad("without an init or execute function"));
    }
    if let Some(other) = registry.backends.iter().find(|b| b.name.as_c_str() == name) {
        if other.given == backend {
            return Ok(());
        }
        return Err(Error::new(
            ET_ERROR_REGISTRATION_ALREADY_REGISTERED,
            format!(
                "{origin} registers the backend {name:?}, which {} registered already; load only one of them",
                other.library
            ),
        ));
    }
    registry.backends.push(Box::leak(Box::new(Backend {
        given: backend,
        table,
        name: name.to_owned(),
        library: origin.to_string(),
    })));
    Ok(())
}

/// The backend of a name; what its table does not have is null.
pub fn find_backend(name: &CStr) -> Option<&'static et_backend_t> {
    registered_backend(name).map(|b| &b.table)
}

/// The table of a backend as it was registered, of the size that it says.
pub fn given_backend(name: &CStr) -> Option<*const et_backend_t> {
    registered_backend(name).map(|b| b.given)
}

fn registered_backend(name: &CStr) -> Option<&'static Backend> {
    read().as_ref()?.backends.iter().find(|b| b.name.as_c_str() == name).copied()
}

/// The number of backends.
pub fn backend_count() -> usize {
    read().as_ref().map_or(0, |r| r.backends.len())
}

/// The name of a backend.
pub fn backend_name(index: usize) -> Option<&'static CStr> {
    read().as_ref()?.backends.get(index).map(|b| b.name.as_c_str())
}

/// Whether a backend says that it can run here.
pub fn is_available(backend: &et_backend_t) -> bool {
    // SAFETY: a registered backend's functions obey the ABI.
    backend.is_available.is_none_or(|ask| unsafe { ask(backend.user_data) })
}

/// Registers a device allocator.
///
/// # Safety
/// The pointers obey the contract of `et_register_device_allocator`.
pub unsafe fn register_device_allocator(
    registration: *const et_registration_t,
    allocator: *const et_device_allocator_t,
) -> Result<()> {
    with(|registry| {
        // SAFETY: the caller's promise.
        let result = unsafe { add_device_allocator(registry, registration, allocator) };
        result.map_err(|e| refuse(registry, e))
    })
}

/// # Safety
/// As for [`register_device_allocator`].
unsafe fn add_device_allocator(
    registry: &mut Registry,
    registration: *const et_registration_t,
    allocator: *const et_device_allocator_t,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let origin = unsafe { handshake(registration, allocator.cast())? };
    let bad = |what: &str| {
        Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{origin} registers a device allocator {what}"))
    };
    if allocator.is_null() {
        return Err(bad("without a table"));
    }
    // SAFETY: the caller's promise; `struct_size` is the first field of every version of the table.
    let size = unsafe { allocator.cast::<u32>().read() } as usize;
    if size < SMALLEST_ALLOCATOR {
        return Err(bad(&format!("whose struct_size is {size}, expected at least {SMALLEST_ALLOCATOR}")));
    }
    // SAFETY: the table has `size` bytes by its own word, and a table without functions is all zeros.
    let table = unsafe {
        let mut table = MaybeUninit::<et_device_allocator_t>::zeroed();
        let known = size.min(size_of::<et_device_allocator_t>());
        ptr::copy_nonoverlapping(allocator.cast::<u8>(), table.as_mut_ptr().cast(), known);
        table.assume_init()
    };
    if table.device_type == ET_DEVICE_CPU {
        return Err(bad("for the host, which needs none"));
    }
    let copies = table.copy_from_host.is_some() && table.copy_to_host.is_some();
    if table.allocate.is_none() || table.deallocate.is_none() || !copies {
        return Err(bad("without an allocate, deallocate or copy function"));
    }
    if let Some(other) = registry.devices.iter().find(|d| d.table.device_type == table.device_type) {
        if ptr::eq(other.given, allocator) {
            return Ok(());
        }
        return Err(Error::new(
            ET_ERROR_REGISTRATION_ALREADY_REGISTERED,
            format!(
                "{origin} registers an allocator for {} memory, which {} registered already; load only one of them",
                device_name(table.device_type),
                other.library
            ),
        ));
    }
    registry.devices.push(Box::leak(Box::new(DeviceAllocator {
        given: allocator,
        table,
        library: origin.to_string(),
    })));
    Ok(())
}

/// What a device type is called in messages.
fn device_name(device_type: u8) -> String {
    match device_type {
        ET_DEVICE_CPU => "host".into(),
        ET_DEVICE_CUDA => "CUDA device".into(),
        other => format!("device type {other}"),
    }
}

/// The allocator of a device type; an error that says who brings it if there is none.
pub fn device_allocator(device_type: u8) -> Result<&'static et_device_allocator_t> {
    registered_allocator(device_type).map(|d| &d.table).ok_or_else(|| {
        let whence = match device_type {
            ET_DEVICE_CUDA => {
                "it comes with libexecutorch_backend_cuda.so.1 (CMake: executorch::backend_cuda) of the wheels for CUDA, \
                 such as executorch-runtime+cu126"
            }
            _ => "it comes with the delegate for that device",
        };
        Error::new(
            ET_ERROR_NOT_FOUND,
            format!(
                "no allocator is registered for {} memory (device_type={device_type}); {whence}{}",
                device_name(device_type),
                refusals()
            ),
        )
    })
}

/// The table of a device allocator as it was registered, of the size that it says.
pub fn given_device_allocator(device_type: u8) -> Option<*const et_device_allocator_t> {
    registered_allocator(device_type).map(|d| d.given)
}

fn registered_allocator(device_type: u8) -> Option<&'static DeviceAllocator> {
    read().as_ref()?.devices.iter().find(|d| d.table.device_type == device_type).copied()
}

/// Refused registrations, as the end of a sentence.
pub fn refusals() -> String {
    let errors: Vec<_> = (0..error_count()).filter_map(error).map(CStr::to_string_lossy).collect();
    if errors.is_empty() { String::new() } else { format!(", and these were refused: {}", errors.join("; ")) }
}

/// The number of refused registrations.
pub fn error_count() -> usize {
    read().as_ref().map_or(0, |r| r.errors.len())
}

/// Why a registration was refused.
pub fn error(index: usize) -> Option<&'static CStr> {
    read().as_ref()?.errors.get(index).copied()
}
