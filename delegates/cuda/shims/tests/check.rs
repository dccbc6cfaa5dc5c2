//! A failed check of a compiled model, under the frames of C++ code that catches.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use executorch_aoti_cuda_shims::symbols::diagnostics::aoti_torch_check;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::process::Command;

type Check = unsafe extern "C-unwind" fn(bool, *const c_char, *const c_char, u32, *const c_char);

#[test]
fn a_failed_check_is_an_exception_that_the_container_catches() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check.cpp");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcheck.so");
    let compiler = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
    let status = Command::new("c++").args(compiler).arg(&library).arg(source).status().unwrap();
    assert!(status.success());
    // SAFETY: the library has no initialisers but C++'s own; the function is declared as in check.cpp. Its strings live as long.
    unsafe {
        let library = libloading::Library::new(library).unwrap();
        let run =
            library.get::<unsafe extern "C" fn(Check, bool, *mut i32) -> *const c_char>(b"run").unwrap();
        let mut alive = 0;
        assert!(run(aoti_torch_check, true, &raw mut alive).is_null());
        for _ in 0..3 {
            let text = CStr::from_ptr(run(aoti_torch_check, false, &raw mut alive)).to_str().unwrap();
            let words = "a check of the compiled model failed: sizes differ (forward at model.cpp:42)";
            assert_eq!(text, words);
            assert_eq!(common::message(), words);
            assert_eq!(alive, 0, "what the C++ frames hold is destroyed");
        }
    }
}
