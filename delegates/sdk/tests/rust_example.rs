//! The example in Rust, built by cargo as a crate outside of this repository.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "common/example.rs"]
mod example;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies the example to a folder of its own, from which it depends on this crate, and builds it.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (from, to) =
        (root.join("examples/rust"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-delegate"));
    fs::create_dir_all(to.join("src")).unwrap();
    for file in ["build.rs", "src/lib.rs"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    let dependency = "path = \"../..\"";
    assert!(manifest.contains(dependency));
    let here = format!("path = {:?}", root.to_str().unwrap());
    fs::write(to.join("Cargo.toml"), manifest.replace(dependency, &here)).unwrap();
    // The versions that are here already.
    fs::copy(root.join("../../Cargo.lock"), to.join("Cargo.lock")).unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--target-dir", "target"])
        .current_dir(&to)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("EXECUTORCH_LIB")
        .status()
        .unwrap();
    assert!(status.success());
    to.join("target/debug/libdemo_delegate.so")
}

/// It asks the process for the runtime's functions and brings none along.
fn check_symbols(library: &Path) {
    let names = |which: &str| {
        let output = Command::new("nm").args(["--dynamic", which]).arg(library).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(names("--undefined-only").contains(" et_register_backend"));
    assert!(!names("--defined-only").contains(" et_"));
}

/// The loader knows it by a name of its own.
fn check_name(library: &Path) {
    let mut command = Command::new("readelf");
    let output = command.env("LC_ALL", "C").args(["--wide", "--dynamic"]).arg(library).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("soname: [libdemo_delegate.so]"));
}

#[test]
fn runs() {
    let library = build();
    check_symbols(&library);
    check_name(&library);
    example::check(&library);
}
