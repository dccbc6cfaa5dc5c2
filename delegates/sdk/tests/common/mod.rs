//! A runtime for the tests' delegate, made by hand.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

extern crate executorch_core as _;

use executorch_abi::backend::*;
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::memory::et_allocator_t;
use executorch_abi::tensor::*;
use executorch_abi::tracer::*;
use executorch_abi::value::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tests of a program count what the process does: one at a time.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

static FREED: AtomicUsize = AtomicUsize::new(0);

/// Payloads that were freed.
pub fn freed() -> usize {
    FREED.load(Relaxed)
}

/// A payload that is counted when it is freed.
pub fn counted(bytes: &[u8]) -> et_buffer_t {
    unsafe extern "C" fn free(_: *mut c_void, data: *const c_void, size: usize) {
        // SAFETY: `counted` leaked a boxed slice of this size.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data.cast::<u8>().cast_mut(), size)) });
        FREED.fetch_add(1, Relaxed);
    }
    let bytes = bytes.to_vec().into_boxed_slice();
    let (size, data) = (bytes.len(), Box::into_raw(bytes));
    et_buffer_t { data: data.cast(), size, free: Some(free), context: ptr::null_mut() }
}

/// An option.
pub fn option(key: &str, kind: et_option_kind_t, number: i32, text: &str) -> et_backend_option_t {
    et_backend_option_t::new(key, kind, number, text).unwrap()
}

const KEY: &CStr = c"key";
const VALUE: &[u8] = b"value";

unsafe extern "C" fn data(_: *mut c_void, key: *const c_char, out: *mut et_buffer_t) -> et_error_t {
    // SAFETY: a NUL-terminated key and a place for the buffer.
    unsafe {
        if CStr::from_ptr(key) != KEY {
            et_set_last_error(ET_ERROR_NOT_FOUND, c"no such key".as_ptr());
            return ET_ERROR_NOT_FOUND;
        }
        let (data, size) = (VALUE.as_ptr().cast(), VALUE.len());
        out.write(et_buffer_t { data, size, free: None, context: ptr::null_mut() });
    }
    ET_OK
}

unsafe extern "C" fn one(_: *mut c_void) -> usize {
    1
}

unsafe extern "C" fn key(_: *mut c_void, index: usize) -> *const c_char {
    if index == 0 { KEY.as_ptr() } else { ptr::null() }
}

/// Gives out up to 64 KiB at once, and never takes it back.
unsafe extern "C" fn allocate(_: *mut c_void, size: usize, alignment: usize) -> *mut c_void {
    if size > 65536 {
        return ptr::null_mut();
    }
    // SAFETY: the size is not zero, by the SDK's promise, and the alignment a power of two.
    unsafe { std::alloc::alloc(std::alloc::Layout::from_size_align(size, alignment).unwrap()).cast() }
}

fn allocator() -> &'static et_allocator_t {
    Box::leak(Box::new(et_allocator_t {
        struct_size: size_of::<et_allocator_t>() as u32,
        reserved: 0,
        user_data: ptr::null_mut(),
        allocate: Some(allocate),
        reset: None,
    }))
}

/// What `init` is given. Leaked, since handles outlive it.
pub struct World {
    pub context: &'static mut et_backend_init_context_t,
}

impl World {
    pub fn new() -> Self {
        let map = Box::leak(Box::new(et_data_map_t {
            struct_size: size_of::<et_data_map_t>() as u32,
            reserved: 0,
            user_data: ptr::null_mut(),
            layout: None,
            data: Some(data),
            load_into: None,
            count: Some(one),
            key: Some(key),
            destroy: None,
        }));
        let context = Box::leak(Box::new(et_backend_init_context_t {
            struct_size: size_of::<et_backend_init_context_t>() as u32,
            reserved: 0,
            method_name: c"forward".as_ptr(),
            data_map: map,
            method_allocator: allocator(),
            tracer: ptr::null(),
            options: ptr::null(),
            option_count: 0,
            internal: ptr::null_mut(),
        }));
        Self { context }
    }
}

static TRACED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What the tracer was told since the last call.
pub fn traced() -> Vec<String> {
    std::mem::take(&mut TRACED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn told(line: String) -> u64 {
    let mut lines = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
    lines.push(line);
    lines.len() as u64
}

/// # Safety
/// Valid arguments of a tracer.
unsafe fn place(name: *const c_char, place: *const et_event_place_t) -> String {
    // SAFETY: the caller's promise.
    unsafe {
        let own = CStr::from_ptr((*place).delegate_name).to_str().unwrap();
        format!("{} {own} {}", CStr::from_ptr(name).to_str().unwrap(), (*place).delegate_id)
    }
}

unsafe extern "C" fn begin_event(_: *mut c_void, name: *const c_char, at: *const et_event_place_t) -> u64 {
    // SAFETY: the caller's arguments are valid, here and below.
    told(format!("begin {}", unsafe { place(name, at) }))
}

unsafe extern "C" fn end_event(_: *mut c_void, token: u64, data: *const c_void, size: usize) {
    // SAFETY: as above.
    let data = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) } };
    told(format!("end {token} {}", String::from_utf8_lossy(data)));
}

unsafe extern "C" fn log_event(
    _: *mut c_void,
    name: *const c_char,
    at: *const et_event_place_t,
    start: u64,
    end: u64,
    _: *const c_void,
    _: usize,
) {
    // SAFETY: as above.
    let id = unsafe { (*at).delegate_id };
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    told(format!("log {name} {id} {start} {end}"));
}

/// What `execute` is given. Leaked.
pub fn execute_context(tracer: bool) -> &'static et_backend_execute_context_t {
    let tracer = tracer.then(|| {
        &*Box::leak(Box::new(et_event_tracer_t {
            struct_size: size_of::<et_event_tracer_t>() as u32,
            flags: 0,
            user_data: ptr::null_mut(),
            begin_block: None,
            begin_event: Some(begin_event),
            end_event: Some(end_event),
            log_event: Some(log_event),
            log_value: None,
            track_allocator: None,
            track_allocation: None,
        }))
    });
    Box::leak(Box::new(et_backend_execute_context_t {
        struct_size: size_of::<et_backend_execute_context_t>() as u32,
        reserved: 0,
        method_name: c"forward".as_ptr(),
        temp_allocator: allocator(),
        tracer: tracer.map_or(ptr::null(), ptr::from_ref),
        internal: ptr::null_mut(),
    }))
}

/// A float32 tensor with its memory.
pub struct Floats {
    pub numbers: Vec<f32>,
    pub sizes: Vec<i32>,
    strides: Vec<i32>,
    dim_order: Vec<u8>,
    pub raw: et_tensor_t,
}

impl Floats {
    /// A tensor of one dimension.
    pub fn of(length: usize) -> Box<Self> {
        Self::new(&[length as i32], &vec![0.5; length])
    }

    /// A tensor whose shape may shrink.
    pub fn new(sizes: &[i32], numbers: &[f32]) -> Box<Self> {
        let mut strides = vec![1; sizes.len()];
        for i in (1..sizes.len()).rev() {
            strides[i - 1] = strides[i] * sizes[i];
        }
        let mut this = Box::new(Self {
            numbers: numbers.to_vec(),
            sizes: sizes.to_vec(),
            strides,
            dim_order: (0..sizes.len() as u8).collect(),
            raw: et_tensor_t {
                data: ptr::null_mut(),
                sizes: ptr::null_mut(),
                strides: ptr::null_mut(),
                dim_order: ptr::null_mut(),
                numel: numbers.len() as u64,
                capacity_bytes: 4 * numbers.len() as u64,
                struct_size: size_of::<et_tensor_t>() as u16,
                rank: sizes.len() as u8,
                dtype: ET_DTYPE_FLOAT32,
                dynamism: ET_DYNAMISM_BOUND,
                device_type: ET_DEVICE_CPU,
                device_index: 0,
                flags: 0,
                user_data: ptr::null_mut(),
            },
        });
        this.raw.data = this.numbers.as_mut_ptr().cast();
        this.raw.sizes = this.sizes.as_mut_ptr();
        this.raw.strides = this.strides.as_mut_ptr();
        this.raw.dim_order = this.dim_order.as_mut_ptr();
        this
    }

    pub fn value(&mut self) -> et_value_t {
        et_value_t::tensor(&mut self.raw)
    }
}
