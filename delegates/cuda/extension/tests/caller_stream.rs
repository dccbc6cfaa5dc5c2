//! The choice of a stream, called through the declarations of the ABI, and from C++ through the header.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_abi::caller_stream::*;
use executorch_extension_cuda as _;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;

fn chosen() -> Option<*mut c_void> {
    let mut stream = std::ptr::dangling_mut();
    // SAFETY: `stream` may be written.
    unsafe { et_caller_stream_get(&raw mut stream) }.then_some(stream)
}

#[test]
fn a_choice_is_the_threads_own_and_may_be_the_default_stream() {
    let stream = std::ptr::without_provenance_mut(16);
    assert_eq!(chosen(), None);
    // SAFETY: streams are only kept; null is allowed as the place to write to.
    unsafe {
        et_caller_stream_set(stream);
        assert!(et_caller_stream_get(std::ptr::null_mut()));
        assert_eq!(chosen(), Some(stream));
        std::thread::spawn(|| assert_eq!(chosen(), None)).join().unwrap();
        et_caller_stream_set(std::ptr::null_mut());
        assert_eq!(chosen(), Some(std::ptr::null_mut()));
        et_caller_stream_clear();
    }
    assert_eq!(chosen(), None);
}

/// The shared library that cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let library = folder.join("libexecutorch_extension_cuda.so");
    assert!(library.is_file(), "{}", library.display());
    library
}

#[test]
fn the_cpp_guard_nests_and_restores() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("caller_stream");
    let built = Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I"])
        .arg(root.join("../../../runtime/cpp/include"))
        .arg("-I")
        .arg(root.join("../../../runtime/abi/include"))
        .arg(root.join("tests/caller_stream.cpp"))
        .arg(&library)
        .arg("-pthread")
        .arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()))
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(built.success());
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
