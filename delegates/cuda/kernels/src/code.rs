//! The device code, loaded into each device at its first use.

use crate::error::{Error, Result};
use crate::image::{Kind, choose, entries};
use executorch_cuda_driver::{Argument, Cuda, Device, DeviceGuard, Kernel, Launch, Module, StreamRef};
use std::collections::HashMap;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Environment: a file with device code that is used instead of what is embedded; see [`crate::image`].
pub const CODE: &str = "EXECUTORCH_CUDA_KERNELS";

/// Aligned as the driver likes it.
#[repr(align(64))]
struct Embedded<T: ?Sized>(T);

static EMBEDDED: &Embedded<[u8]> = &Embedded(*include_bytes!(concat!(env!("OUT_DIR"), "/kernels.bin")));

/// The code of one device, and the kernels that were used.
struct Loaded {
    module: &'static Module,
    kernels: HashMap<&'static CStr, Kernel<'static>>,
}

/// By the CUDA that loaded it and the device. Modules are never unloaded: work that uses them may be on its way, and at the end of
/// a process CUDA may be gone before.
static LOADED: Mutex<Vec<(usize, Device, Loaded)>> = Mutex::new(Vec::new());

/// Puts a kernel on `stream`, which belongs to `device`; the device's code is loaded first if it is not.
///
/// # Safety
/// As [`Kernel::launch`].
pub unsafe fn launch(
    stream: StreamRef,
    device: Device,
    name: &'static CStr,
    launch: Launch,
    arguments: &[Argument<'_>],
) -> Result<()> {
    if launch.grid.contains(&0) {
        return Ok(());
    }
    let cuda = stream.cuda();
    // The driver launches in the current context, which must be the device's: the runtime library makes it so when it is told
    // the device, also in a thread that has called nothing of CUDA before.
    let _restored = DeviceGuard::new(cuda, device)?;
    device.make_current(cuda)?;
    let kernel = kernel(cuda, device, name)?;
    // SAFETY: promised by the caller.
    Ok(unsafe { kernel.launch(stream, launch, arguments) }?)
}

fn kernel(cuda: &'static Cuda, device: Device, name: &'static CStr) -> Result<Kernel<'static>> {
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let key = std::ptr::from_ref(cuda).addr();
    let at = match all.iter().position(|entry| (entry.0, entry.1) == (key, device)) {
        Some(at) => at,
        None => {
            let module = Box::leak(Box::new(load(cuda, device)?));
            all.push((key, device, Loaded { module, kernels: HashMap::new() }));
            all.len() - 1
        }
    };
    let missing = || Error::NoCode("the device code was lost".into());
    let loaded = &mut all.get_mut(at).ok_or_else(missing)?.2;
    if let Some(kernel) = loaded.kernels.get(name) {
        return Ok(*kernel);
    }
    let kernel = loaded.module.kernel(name)?;
    loaded.kernels.insert(name, kernel);
    Ok(kernel)
}

/// Loads the best code for the device, which is current.
fn load(cuda: &'static Cuda, device: Device) -> Result<Module> {
    let capability = device.capability(cuda)?;
    let file = std::env::var_os(CODE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let read;
    let (container, origin) = match &file {
        Some(path) => {
            read = std::fs::read(path)
                .map_err(|error| Error::NoCode(format!("{CODE} is {}: {error}", path.display())))?;
            (read.as_slice(), path.display().to_string())
        }
        None if EMBEDDED.0.is_empty() => {
            return Err(Error::NoCode(format!(
                "this build holds no CUDA kernels: build it for a row (cargo xtask wheel), or name a file with device code \
                 in {CODE}"
            )));
        }
        None => (&EMBEDDED.0, "this library".to_owned()),
    };
    let all = entries(container)
        .ok_or_else(|| Error::NoCode(format!("{origin}: the container of device code is damaged")))?;
    let chosen = choose(&all, capability).ok_or_else(|| {
        let text = |kind| all.iter().filter(move |entry| entry.kind == kind).map(|entry| entry.architecture.to_string());
        Error::NoCode(format!(
            "no CUDA kernels for compute capability {}.{}: {origin} has machine code for {} and PTX for {}; use a wheel that \
             names this GPU",
            capability / 10,
            capability % 10,
            text(Kind::Cubin).collect::<Vec<_>>().join(", "),
            text(Kind::Ptx).collect::<Vec<_>>().join(", "),
        ))
    })?;
    // SAFETY: the embedded code is as the compiler made it; a file is the user's own, and its head and end were checked.
    Ok(unsafe { Module::load(cuda, chosen.code) }?)
}
