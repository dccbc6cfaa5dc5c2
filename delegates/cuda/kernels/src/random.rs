//! Random numbers.

use crate::code::launch;
use crate::error::{Error, Result, narrow};
use crate::scratch::Scratch;
use executorch_cuda_driver::{Argument, Cuda, Device, DeviceBuffer, Launch, StreamRef};
use std::ffi::{CStr, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Threads of a block.
const THREADS: u32 = 256;
/// Bytes of the generator's state: seed and counter.
const STATE: usize = 16;

/// Each device's state, by the CUDA that it was made with.
static STATES: Mutex<Vec<(usize, Device, DeviceBuffer)>> = Mutex::new(Vec::new());

/// The address of a device's state, which is made at the first call with a seed from the clock.
fn state(cuda: &'static Cuda, device: Device) -> Result<*mut c_void> {
    let key = std::ptr::from_ref(cuda).addr();
    let mut states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = states.iter().find(|entry| (entry.0, entry.1) == (key, device)) {
        return Ok(entry.2.as_ptr());
    }
    let mut buffer = DeviceBuffer::new(cuda, device, STATE)?;
    // Before 1970 any seed is as good as another.
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let mut bytes = [0; STATE];
    bytes.iter_mut().zip(seed.to_ne_bytes()).for_each(|(to, from)| *to = from);
    buffer.write(&bytes)?;
    let address = buffer.as_ptr();
    states.push((key, device, buffer));
    Ok(address)
}

/// Fills `out` with `count` float32 values in [0, 1), multiples of 2^-24.
///
/// # Safety
/// `out` is memory of the stream's device for that many elements, until the stream has done the work.
pub unsafe fn rand_f32(stream: StreamRef, device: Device, out: *mut c_void, count: u64) -> Result<()> {
    // SAFETY: the kernel's further arguments are none; the rest is promised by the caller.
    unsafe { fill(stream, device, c"random_uniform_f32", 4, out, count, &[]) }
}

/// Fills `out` with `count` bfloat16 values in [0, 1): those of [`rand_f32`], rounded towards zero.
///
/// # Safety
/// As [`rand_f32`].
pub unsafe fn rand_bf16(stream: StreamRef, device: Device, out: *mut c_void, count: u64) -> Result<()> {
    // SAFETY: as above.
    unsafe { fill(stream, device, c"random_uniform_bf16", 4, out, count, &[]) }
}

/// Fills `out` with `count` int64 values from `low` up to `high`, which is not drawn: `low` and the rest of 64 random bits by the
/// range.
///
/// # Safety
/// As [`rand_f32`].
pub unsafe fn randint(
    stream: StreamRef,
    device: Device,
    out: *mut c_void,
    count: u64,
    low: i64,
    high: i64,
) -> Result<()> {
    if high <= low {
        return Err(Error::Unsupported(format!("integers from {low} up to {high}: the range is empty")));
    }
    let range = high.wrapping_sub(low) as u64;
    // SAFETY: the kernel's further arguments are these two; the rest is promised by the caller.
    unsafe {
        fill(stream, device, c"random_integers", 2, out, count, &[Argument::new(&low), Argument::new(&range)])
    }
}

/// Runs a kernel whose threads draw `each` numbers.
///
/// # Safety
/// As [`rand_f32`]; `further` are the kernel's arguments behind the first three.
unsafe fn fill(
    stream: StreamRef,
    device: Device,
    name: &'static CStr,
    each: u64,
    out: *mut c_void,
    count: u64,
    further: &[Argument<'_>],
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let state = state(stream.cuda(), device)?;
    let scratch = Scratch::new::<[u8; STATE]>(stream, 1)?;
    let base = scratch.address();
    let draws = count.div_ceil(each);
    let blocks = narrow(draws.div_ceil(u64::from(THREADS)), "the number of blocks")?;
    let mut arguments = vec![Argument::new(&base), Argument::new(&out), Argument::new(&count)];
    arguments.extend(further);
    // Threads beyond the last number draw too, so whole blocks are taken.
    let taken = u64::from(blocks) * u64::from(THREADS);
    let reserve = [Argument::new(&state), Argument::new(&base), Argument::new(&taken)];
    // SAFETY: the arguments are the kernels'; the rest is promised by the caller.
    unsafe {
        launch(stream, device, c"random_reserve", Launch::linear(1, 1), &reserve)?;
        launch(stream, device, name, Launch::linear(blocks, THREADS), &arguments)
    }
}
