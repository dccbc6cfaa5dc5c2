//! The example of a delegate in C, built against the generated headers and loaded like anybody's.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{Data, Instruction, Made, Value};
use common::*;
use executorch_abi::backend::*;
use executorch_abi::error::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::registration::*;
use executorch_abi::tensor::et_tensor_t;
use executorch_abi::value::*;
use executorch_abi::{Error, Result, TensorRef};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;

/// A library, never unloaded: the registry keeps its table.
struct Library(*mut c_void);

// SAFETY: the handle is only looked up in, which may be done from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Compiles the delegate with some of its macros set, and loads it.
    fn build(name: &str, macros: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let example = root.join("../../delegates/sdk/examples/c");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libdemo_{name}.so"));
        let status = Command::new("cc")
            .args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
            .args(macros)
            .arg("-I")
            .arg(root.join("../abi/include"))
            .arg("-I")
            .arg(&example)
            .arg(example.join("demo.c"))
            .arg(root.join("tests/delegate/watched.c"))
            .arg("-o")
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success());
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the library's constructor registers it, and does nothing else.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        // SAFETY: a failed dlopen leaves a message.
        assert!(!handle.is_null(), "{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
        Self(handle)
    }

    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a live handle.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null());
        symbol
    }

    fn number(&self, name: &CStr) -> i32 {
        // SAFETY: the delegate's counters are ints, which one test at a time changes.
        unsafe { self.symbol(name).cast::<i32>().read() }
    }

    fn register(&self) -> et_error_t {
        // SAFETY: the symbol is a function without arguments that gives an error code.
        unsafe {
            std::mem::transmute::<*mut c_void, extern "C" fn() -> et_error_t>(self.symbol(c"demo_register"))()
        }
    }
}

fn demo() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| Library::build("normal", &[]))
}

/// Refused registrations that name a library.
fn refusals(library: &str) -> Vec<String> {
    // SAFETY: messages are NUL-terminated and live as long as the process.
    let message = |i| unsafe { CStr::from_ptr(et_registration_error(i)).to_string_lossy().into_owned() };
    // SAFETY: always callable.
    (0..unsafe { et_registration_error_count() }).map(message).filter(|m| m.contains(library)).collect()
}

fn exported() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checks/conformance/delegates/delegate.pte")
}

fn option(key: &str, kind: et_option_kind_t, number: i32, text: &str) -> et_backend_option_t {
    et_backend_option_t::new(key, kind, number, text).unwrap()
}

fn load_with(program: &Program, options: &[et_backend_option_t]) -> Result<Method> {
    let other = et_backend_options_t { backend: c"OtherBackend".as_ptr(), options: ptr::null(), count: 0 };
    let own = et_backend_options_t {
        backend: c"DemoBackend".as_ptr(),
        options: options.as_ptr(),
        count: options.len(),
    };
    let both = [other, own];
    let options =
        et_method_options_t { backend_options: both.as_ptr(), backend_options_count: 2, ..no_options() };
    load_method_with(program, c"forward", &options)
}

const A: [f32; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const B: [f32; 8] = [0.5, 0.25, -1.0, 2.0, -5.0, 0.0, 3.5, 1.0];

fn run(method: &Method) -> Result<Vec<f32>> {
    for (i, data) in [A, B].iter().enumerate() {
        let mut data = *data;
        // SAFETY: a live method, whose inputs are tensors with planned memory.
        unsafe {
            let mut tensor = ptr::from_ref(&*(*et_method_input(method.0, i)).payload.as_tensor).read();
            tensor.data = data.as_mut_ptr().cast();
            assert_eq!(et_method_set_input(method.0, i, &et_value_t::tensor(&mut tensor)), ET_OK);
        }
    }
    execute(method)?;
    // SAFETY: a live method, whose output is a tensor.
    let tensor: &et_tensor_t = unsafe { &*(*et_method_output(method.0, 0)).payload.as_tensor };
    // SAFETY: as above.
    Ok(unsafe { TensorRef::new(tensor) }.data::<f32>()?.to_vec())
}

/// What the exported program computes, with the delegate's gain.
fn expected(gain: f32) -> Vec<f32> {
    let scale = [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0];
    let one = |i: usize| ((A[i] + B[i]) * scale[i % 4] + 0.25) * gain + A[i];
    (0..8).map(one).collect()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-5), "{found:?}, not {expected:?}");
}

/// One test, since the delegate counts its handles and the registry is the process's.
#[test]
fn a_delegate_in_c() {
    register_kernels();
    before_it_is_loaded();
    demo();
    it_is_registered_once();
    it_runs_an_exported_program();
    its_errors_arrive();
    its_table_ends_before_descriptions();
    an_unavailable_one_is_told();
    others_are_refused();
}

fn before_it_is_loaded() {
    let program = load_file(&exported()).unwrap();
    let error = load_method(&program, c"forward").err().unwrap();
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
    assert!(error.message.contains("DemoBackend") && error.message.contains("not registered"), "{error}");
    unsafe extern "C" fn nothing(_: *mut c_void, _: *const c_char, _: usize) {}
    // SAFETY: a live program, a NUL-terminated name, no options, and a sink that reads no context.
    let code = unsafe {
        let (options, context) = (ptr::null(), ptr::null_mut());
        et_program_describe_delegate(program.0, c"forward".as_ptr(), 0, options, Some(nothing), context)
    };
    assert_eq!(code, ET_ERROR_NOT_FOUND);
    // SAFETY: a live program.
    unsafe {
        let meta = et_program_method_at(program.0, 0);
        let mut info = et_delegate_info_t { backend: ptr::null(), payload_size: 0, compile_spec_count: 0 };
        assert_eq!(et_method_meta_delegate(meta, 0, &mut info), ET_OK);
        assert_eq!(CStr::from_ptr(info.backend), c"DemoBackend");
        assert_eq!((info.payload_size, info.compile_spec_count), (18, 2));
    }
}

fn it_is_registered_once() {
    // SAFETY: a NUL-terminated name, here and below.
    assert!(unsafe { et_backend_is_available(c"DemoBackend".as_ptr()) });
    // SAFETY: always callable.
    let count = unsafe { et_backend_count() };
    assert_eq!(demo().register(), ET_OK, "the same table again changes nothing");
    // SAFETY: always callable.
    assert_eq!(unsafe { et_backend_count() }, count);
    assert_eq!(refusals("libdemo_normal"), [""; 0]);
}

fn it_runs_an_exported_program() {
    let program = load_file(&exported()).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    assert_close(&run(&method).unwrap(), &expected(1.0));
    let options = [option("gain", ET_OPTION_INT, -3, ""), option("label", ET_OPTION_STRING, 0, "a label")];
    let other = load_with(&program, &options).unwrap();
    assert_eq!(demo().number(c"demo_handles"), 2);
    assert_close(&run(&other).unwrap(), &expected(-3.0));
    assert_close(&run(&method).unwrap(), &expected(1.0));
    drop(program);
    drop(method);
    assert_eq!(demo().number(c"demo_handles"), 1);
    assert_close(&run(&other).unwrap(), &expected(-3.0));
    drop(other);
    assert_eq!(demo().number(c"demo_handles"), 0, "every handle was destroyed");
    assert_eq!(demo().number(c"demo_user_data"), 4711);
    // SAFETY: the flag is a bool.
    assert!(unsafe { demo().symbol(c"demo_contexts_complete").cast::<bool>().read() });
}

fn its_errors_arrive() {
    let program = load_file(&exported()).unwrap();
    let unknown = load_with(&program, &[option("speed", ET_OPTION_INT, 1, "")]).err().unwrap();
    assert_eq!(unknown.code, ET_ERROR_INVALID_ARGUMENT);
    assert!(unknown.message.contains("gain (int)") && unknown.message.contains("delegate 0"), "{unknown}");
    let method = load_with(&program, &[option("fails", ET_OPTION_BOOL, 1, "")]).unwrap();
    let error = run(&method).unwrap_err();
    assert_eq!(error.code, ET_ERROR_DELEGATE_INVALID_HANDLE);
    for part in ["told to fail", "instruction 0 of chain 0", "DemoBackend", "float32[2, 4]"] {
        assert!(error.message.contains(part), "{error}");
    }
    drop(method);
    // Payloads that are not the delegate's, are cut off, or name data that the file lacks.
    let bytes = std::fs::read(exported()).unwrap();
    let damage = |from: &[u8], to: &[u8]| {
        let mut bytes = bytes.clone();
        let at: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|&i| &bytes[i..i + from.len()] == from).collect();
        let last = *at.last().unwrap();
        bytes[last..last + to.len()].copy_from_slice(to);
        let bytes = Aligned::new(&bytes);
        load_method(&load_bytes(&bytes).unwrap(), c"forward").err().unwrap()
    };
    let foreign = damage(b"DEMO\x01", b"OMED");
    assert_eq!(foreign.code, ET_ERROR_DELEGATE_INVALID_COMPATIBILITY);
    assert!(foreign.message.contains("does not start with DEMO"), "{foreign}");
    let version = damage(b"DEMO\x01", b"DEMO\x02");
    assert!(version.message.contains("another version"), "{version}");
    let missing = damage(b"DEMO\x01\0\0\0demo.scale", b"DEMO\x01\0\0\0demo.skale");
    assert_eq!(missing.code, ET_ERROR_NOT_FOUND);
    assert!(missing.message.contains("demo.skale"), "{missing}");
    assert_eq!(demo().number(c"demo_handles"), 0, "failed ones leave nothing behind");
}

fn its_table_ends_before_descriptions() {
    unsafe extern "C" fn nothing(_: *mut c_void, _: *const c_char, _: usize) {
        panic!("nothing is written");
    }
    let program = load_file(&exported()).unwrap();
    let describe = |method: &CStr, index, sink: et_text_sink_t| {
        // SAFETY: a live program, a NUL-terminated name, no options, and a sink that reads no context.
        let code = unsafe {
            let (options, context) = (ptr::null(), ptr::null_mut());
            et_program_describe_delegate(program.0, method.as_ptr(), index, options, sink, context)
        };
        Error::check(code).unwrap_err()
    };
    let error = describe(c"forward", 0, Some(nothing));
    assert_eq!(error.code, ET_ERROR_NOT_IMPLEMENTED);
    assert!(error.message.contains("delegate 0 (DemoBackend)"), "{error}");
    assert!(describe(c"forward", 1, Some(nothing)).message.contains("delegate 1 does not exist"));
    assert!(describe(c"backward", 0, Some(nothing)).message.contains("backward"));
    assert!(describe(c"forward", 0, None).message.contains("sink"));
    // SAFETY: a NUL-terminated name; the table is the library's, of the size that it says.
    let size = unsafe { et_backend_find(c"DemoBackend".as_ptr()).cast::<u32>().read() };
    assert_eq!(size as usize, std::mem::offset_of!(et_backend_t, describe));
}

/// A program whose delegates have the payload `DEMO` of version 1, without a scale.
fn made(backends: Vec<&'static str>) -> Aligned {
    let planned = |offset| Value::Tensor(vec![8], Data::Planned(offset));
    let made = Made {
        values: vec![planned(0), planned(64), planned(128)],
        inputs: vec![0, 1],
        outputs: vec![2],
        instructions: vec![Instruction::Delegate(0, vec![0, 1, 2])],
        backends,
        constants: vec![vec![f32::from_bits(u32::from_le_bytes(*b"DEMO")), f32::from_bits(1)]],
        planned: 192,
        ..Made::default()
    };
    Aligned::new(&made.bytes())
}

fn an_unavailable_one_is_told() {
    Library::build("unavailable", &["-DNAME=\"AbsentBackend\"", "-DAVAILABLE=false"]);
    // SAFETY: a NUL-terminated name.
    assert!(!unsafe { et_backend_is_available(c"AbsentBackend".as_ptr()) });
    let bytes = made(vec!["DemoBackend"]);
    let program = load_bytes(&bytes).unwrap();
    let sums: Vec<f32> = A.iter().zip(B).map(|(a, b)| a + b).collect();
    assert_close(&run(&load_method(&program, c"forward").unwrap()).unwrap(), &sums);
    // The first delegate is there, the second is not: the load fails, and the first one is destroyed.
    let bytes = made(vec!["DemoBackend", "AbsentBackend"]);
    let error = load_method(&load_bytes(&bytes).unwrap(), c"forward").err().unwrap();
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
    assert!(error.message.contains("AbsentBackend") && error.message.contains("cannot run"), "{error}");
    assert_eq!(demo().number(c"demo_handles"), 0);
}

fn others_are_refused() {
    let other = Library::build("other", &["-DOTHER"]);
    assert_eq!(other.register(), ET_ERROR_REGISTRATION_ALREADY_REGISTERED);
    let told = refusals("libdemo_other");
    assert_eq!(told.len(), 2, "its constructor, and the call above");
    assert!(
        told[0].contains("libdemo_normal") && told[0].contains("DemoBackend"),
        "both are named: {told:?}"
    );
    for (name, macros, version) in
        [("major", ["-DMAJOR=2"], "ABI 2.0"), ("newer", ["-DMINOR=99"], "ABI 1.99")]
    {
        let library = Library::build(name, &[macros[0], "-DNAME=\"LaterBackend\""]);
        assert_eq!(library.register(), ET_ERROR_NOT_SUPPORTED);
        let told = refusals(&format!("libdemo_{name}"));
        let ours = format!("ABI {ET_ABI_MAJOR}.{ET_ABI_MINOR}");
        assert!(told[0].contains(version) && told[0].contains(&ours), "{told:?}");
        assert!(told[0].contains("demo 7.8.9"), "{told:?}");
    }
    // SAFETY: a NUL-terminated name.
    assert!(unsafe { et_backend_find(c"LaterBackend".as_ptr()) }.is_null());
    // Whoever loads a program next is told.
    let bytes = made(vec!["LaterBackend"]);
    let error = load_method(&load_bytes(&bytes).unwrap(), c"forward").err().unwrap();
    assert!(error.message.contains("ABI 1.99"), "{error}");
}
