//! What the fake libraries consist of: the root of `libcuda.so.1`, which `build.rs` compiles with `--cfg fake_library`.
//! It has the functions of the runtime (`cuda…`) too; `libcudart.so.N` are empty but for their version and need it.
//!
//! * The memory of the "device" is the host's, filled with `0xa5` when it is allocated and `0xdd` when it is freed.
//!   Freed blocks stay set aside for a while, so that whoever uses them is found out.
//! * Nothing that is enqueued runs before somebody waits for it, so that a missing synchronisation shows.
//! * A "kernel" is a function of the host: see [`modules`].
//! * A capture records what is enqueued; launching its graph enqueues that again.
//! * Every function counts its calls and can be told to fail: see [`control`].
#![allow(non_snake_case, missing_docs, reason = "the names and meanings are CUDA's")]
#![cfg_attr(not(fake_library), allow(dead_code, reason = "only the library exports them"))]

/// Defines functions of CUDA's: each is exported, counted, and fails when it was told to. One marked `#[free]` gives
/// something back, which it does even when it is told to fail: CUDA's tell of earlier errors then.
macro_rules! api {
    ($($(#[$kind:ident])? fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        /// # Safety
        /// As CUDA's.
        #[cfg_attr(fake_library, unsafe(no_mangle))]
        #[allow(unused_unsafe, reason = "some bodies are safe")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> super::Code {
            let told = super::control::enter(stringify!($name));
            let frees = false $(|| stringify!($kind) == "free")?;
            if told != super::SUCCESS && !frees {
                return super::device::remember(stringify!($name), told);
            }
            // SAFETY: the caller keeps CUDA's rules.
            let body = || -> Result<(), super::Code> { unsafe {
                $body
                #[allow(unreachable_code, reason = "bodies may end with an error")]
                Ok(())
            }};
            let result = body();
            super::device::remember(stringify!($name), result.err().unwrap_or(told))
        }
    )*};
}

pub mod control;
pub mod device;
pub mod graphs;
pub mod memory;
pub mod modules;
pub mod state;
pub mod streams;

/// A `cudaError_t` or a `CUresult`.
pub type Code = i32;

pub const SUCCESS: Code = 0;
pub const INVALID_VALUE: Code = 1;
pub const OUT_OF_MEMORY: Code = 2;
pub const NO_DEVICE: Code = 100;
pub const INVALID_DEVICE: Code = 101;
pub const INVALID_HANDLE: Code = 400;
pub const NOT_FOUND: Code = 500;
pub const NOT_READY: Code = 600;
pub const ILLEGAL_ADDRESS: Code = 700;
pub const CAPTURE_UNSUPPORTED: Code = 900;
pub const CAPTURE_INVALIDATED: Code = 901;
pub const CAPTURE_IMPLICIT: Code = 906;
pub const CAPTURED_EVENT: Code = 907;
