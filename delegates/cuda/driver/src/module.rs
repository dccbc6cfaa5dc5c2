//! Device code: loading it and launching its kernels.

use crate::error::{Error, Result};
use crate::sys::{RawFunction, RawModule};
use crate::{Cuda, StreamRef};
use std::ffi::{CStr, c_int, c_uint, c_void};

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_SHARED: c_int = 8;

/// Device code that is loaded into the device that was current then; unloaded when dropped.
#[derive(Debug)]
pub struct Module {
    cuda: &'static Cuda,
    raw: RawModule,
}

// SAFETY: modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A kernel of a module.
#[derive(Debug, Clone, Copy)]
pub struct Kernel<'m> {
    module: &'m Module,
    raw: RawFunction,
}

// SAFETY: as for modules.
unsafe impl Send for Kernel<'_> {}
// SAFETY: as for modules.
unsafe impl Sync for Kernel<'_> {}

/// How many threads run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Launch {
    /// `grid` blocks of `block` threads.
    pub fn linear(grid: u32, block: u32) -> Self {
        Self { grid: [grid, 1, 1], block: [block, 1, 1], shared: 0 }
    }
}

/// An argument of a kernel: the address of its value. [`Argument::new`] keeps the value borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'a>(*mut c_void, std::marker::PhantomData<&'a ()>);

impl<'a> Argument<'a> {
    /// The argument with this value, whose type must be laid out as the kernel's parameter is.
    pub fn new<T: Copy>(value: &'a T) -> Self {
        Self((&raw const *value).cast_mut().cast(), std::marker::PhantomData)
    }
}

impl Module {
    /// Loads a cubin, a fat binary, or PTX (which must end with a NUL byte) into the current device.
    ///
    /// # Safety
    /// `image` is complete and unharmed: CUDA reads its length from its content.
    pub unsafe fn load(cuda: &'static Cuda, image: &[u8]) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: promised by the caller; writes one pointer.
        let code = unsafe { (cuda.driver().module_load)(&raw mut raw, image.as_ptr().cast()) };
        cuda.check_driver("cuModuleLoadData", code)?;
        Ok(Self { cuda, raw })
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &CStr) -> Result<Kernel<'_>> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module lives, the name is NUL-terminated; writes one pointer.
        let code = unsafe { (self.cuda.driver().module_function)(&raw mut raw, self.raw, name.as_ptr()) };
        self.cuda.check_driver("cuModuleGetFunction", code).map_err(|error| {
            Error::Unavailable(format!("the device code has no kernel {}: {error}", name.to_string_lossy()))
        })?;
        Ok(Kernel { module: self, raw })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: made by `load`, and unloaded once.
        unsafe { (self.cuda.driver().module_unload)(self.raw) };
    }
}

impl Kernel<'_> {
    /// Allows launches with up to `bytes` bytes of dynamic shared memory, where that is more than 48 KiB.
    pub fn allow_shared(self, bytes: u32) -> Result<()> {
        let cuda = self.module.cuda;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the kernel lives.
        let code = unsafe { (cuda.driver().function_set_attribute)(self.raw, MAX_SHARED, bytes) };
        cuda.check_driver("cuFuncSetAttribute", code)
    }

    /// Puts the kernel on `stream`, of the device that the module was loaded into.
    ///
    /// # Safety
    /// The arguments are the kernel's, in number, order and type, and what they point to is valid until the stream has done it.
    pub unsafe fn launch(self, stream: StreamRef, launch: Launch, arguments: &[Argument<'_>]) -> Result<()> {
        let cuda = self.module.cuda;
        let mut addresses: Vec<*mut c_void> = arguments.iter().map(|argument| argument.0).collect();
        let ([gx, gy, gz], [bx, by, bz]): ([c_uint; 3], [c_uint; 3]) = (launch.grid, launch.block);
        // SAFETY: the kernel lives; CUDA copies the arguments' values before it returns. The rest is promised by the caller.
        let code = unsafe {
            (cuda.driver().launch)(
                self.raw,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                launch.shared,
                stream.as_raw(),
                addresses.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        cuda.check_driver("cuLaunchKernel", code)
    }
}
