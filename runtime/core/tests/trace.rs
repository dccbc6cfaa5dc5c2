//! What a tracer is told, in order.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::*;
use executorch_abi::error::*;
use executorch_abi::method::*;
use executorch_abi::tracer::*;
use executorch_abi::value::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// What was told, as lines.
type Log = Vec<String>;

/// # Safety
/// `data` is the log of a tracer below.
unsafe fn push(data: *mut c_void, line: String) -> usize {
    // SAFETY: the caller's promise; one thread at a time uses the log.
    let log = unsafe { &mut *data.cast::<Log>() };
    log.push(line);
    log.len()
}

fn text(name: *const c_char) -> String {
    // SAFETY: the runtime's names are NUL-terminated.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn begin_block(data: *mut c_void, name: *const c_char) {
    // SAFETY: the tracer's user data, here and below.
    unsafe { push(data, format!("block {}", text(name))) };
}

unsafe extern "C" fn begin_event(
    data: *mut c_void,
    name: *const c_char,
    place: *const et_event_place_t,
) -> u64 {
    // SAFETY: as above, and a valid place.
    unsafe {
        let place = &*place;
        push(data, format!("begin {} {} {}", text(name), place.chain, place.instruction)) as u64
    }
}

unsafe extern "C" fn end_event(data: *mut c_void, token: u64, _: *const c_void, _: usize) {
    // SAFETY: as above.
    unsafe { push(data, format!("end {token}")) };
}

unsafe extern "C" fn log_value(
    data: *mut c_void,
    place: *const et_event_place_t,
    value: *const et_value_t,
    is_output: bool,
) -> et_error_t {
    // SAFETY: as above, and a valid value.
    unsafe {
        let tag = executorch_abi::args::tag_name((*value).tag);
        push(data, format!("value {tag} {} {is_output}", (*place).instruction));
    }
    ET_OK
}

unsafe extern "C" fn refuse(
    _: *mut c_void,
    _: *const et_event_place_t,
    _: *const et_value_t,
    _: bool,
) -> et_error_t {
    // SAFETY: a NUL-terminated message.
    unsafe { et_set_last_error(ET_ERROR_OUT_OF_RESOURCES, c"the log is full".as_ptr()) };
    ET_ERROR_OUT_OF_RESOURCES
}

unsafe extern "C" fn track_allocator(data: *mut c_void, name: *const c_char) -> u32 {
    // SAFETY: as above.
    unsafe { push(data, format!("allocator {}", text(name))) };
    7
}

unsafe extern "C" fn track_allocation(data: *mut c_void, allocator: u32, size: usize) {
    // SAFETY: as above.
    unsafe { push(data, format!("allocation {allocator} {}", size > 0)) };
}

fn tracer(log: &mut Log, flags: u32) -> et_event_tracer_t {
    et_event_tracer_t {
        struct_size: size_of::<et_event_tracer_t>() as u32,
        flags,
        user_data: ptr::from_mut(log).cast(),
        begin_block: Some(begin_block),
        begin_event: Some(begin_event),
        end_event: Some(end_event),
        log_event: None,
        log_value: Some(log_value),
        track_allocator: Some(track_allocator),
        track_allocation: Some(track_allocation),
    }
}

fn load(tracer: &et_event_tracer_t) -> executorch_abi::Result<Method> {
    let options = et_method_options_t { tracer, ..no_options() };
    load_method_with(&load_file(&file("add.pte")).unwrap(), c"forward", &options)
}

fn set(method: &Method) {
    let mut data = [1.0_f32; 8];
    for i in 0..2 {
        // SAFETY: a live method, whose inputs are tensors with planned memory.
        unsafe {
            let mut tensor = ptr::from_ref(&*(*et_method_input(method.0, i)).payload.as_tensor).read();
            tensor.data = data.as_mut_ptr().cast();
            assert_eq!(et_method_set_input(method.0, i, &et_value_t::tensor(&mut tensor)), ET_OK);
        }
    }
}

#[test]
fn blocks_events_and_values_come_in_order() {
    register_kernels();
    let mut log = Log::new();
    let table = tracer(&mut log, ET_TRACER_LOG_INTERMEDIATE | ET_TRACER_LOG_OUTPUTS);
    let method = load(&table).unwrap();
    set(&method);
    execute(&method).unwrap();
    // SAFETY: a live method.
    assert_eq!(unsafe { et_method_step(method.0) }, ET_OK);
    drop(method);
    assert_eq!(
        log,
        [
            "block Default",
            "begin Program::load_method -1 -1",
            "begin Method::init -1 -1",
            "allocator planned memory",
            "allocation 7 true",
            "end 3",
            "end 2",
            "block Execute",
            "begin Method::execute -1 -1",
            "begin OPERATOR_CALL 0 0",
            "end 10",
            "value a tensor 0 false",
            "end 9",
            "value a tensor -1 true",
            "begin Method::step -1 -1",
            "begin OPERATOR_CALL 0 0",
            "end 16",
            "value a tensor 0 false",
            "end 15",
        ]
    );
}

#[test]
fn a_tracer_may_have_no_functions() {
    register_kernels();
    let mut log = Log::new();
    let table = et_event_tracer_t {
        begin_block: None,
        begin_event: None,
        end_event: None,
        log_value: None,
        track_allocator: None,
        ..tracer(&mut log, ET_TRACER_LOG_INTERMEDIATE)
    };
    let method = load(&table).unwrap();
    set(&method);
    execute(&method).unwrap();
    assert_eq!(log, [""; 0]);
}

#[test]
fn a_tracer_s_failure_and_a_wrong_size_are_told() {
    register_kernels();
    let mut log = Log::new();
    let table = et_event_tracer_t { log_value: Some(refuse), ..tracer(&mut log, ET_TRACER_LOG_INTERMEDIATE) };
    let method = load(&table).unwrap();
    set(&method);
    let error = execute(&method).unwrap_err();
    assert_eq!(error.code, ET_ERROR_OUT_OF_RESOURCES);
    assert!(error.message.contains("the log is full") && error.message.contains("instruction 0"), "{error}");
    let short = et_event_tracer_t { struct_size: 8, ..table };
    let error = load(&short).err().unwrap();
    assert!(error.message.contains("tracer") && error.message.contains("struct_size"), "{error}");
}
