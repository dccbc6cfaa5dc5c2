//! The example in C, built by the C compiler against the headers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "common/example.rs"]
mod example;

use std::path::Path;
use std::process::Command;

#[test]
fn runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("examples/c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libdemo_c.so");
    let status = Command::new("cc")
        .args([
            "-std=c11",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fvisibility=hidden",
            "-shared",
            "-fPIC",
        ])
        .arg("-I")
        .arg(root.join("../../runtime/abi/include"))
        .args([folder.join("demo.c"), folder.join("register.c")])
        .arg("-o")
        .arg(&library)
        .status()
        .unwrap();
    assert!(status.success());
    example::check(&library);
}
