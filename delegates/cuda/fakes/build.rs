//! Compiles the fake libraries, with the compiler and the linker that cargo uses and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

const MAJORS: [(u32, u32); 2] = [(12, 12_060), (13, 13_000)];

fn main() {
    println!("cargo::rerun-if-changed=src/fake");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(variable("OUT_DIR"));
    library(&out, "libcuda.so.1", Path::new("src/fake/mod.rs"), &[]);
    for (major, version) in MAJORS {
        let source = out.join(format!("runtime{major}.rs"));
        let text = format!(
            "/// Writes the version.\n\
             /// # Safety\n/// As CUDA's.\n\
             #[unsafe(no_mangle)] pub unsafe extern \"C\" fn cudaRuntimeGetVersion(out: *mut i32) -> i32 {{\n\
             unsafe {{ out.write({version}) }};\n0 }}\n"
        );
        if let Err(error) = std::fs::write(&source, text) {
            panic!("{}: {error}", source.display());
        }
        // The functions are in the other library, which is found beside this one.
        let needs = ["-Wl,--no-as-needed".to_owned(), out.join("libcuda.so.1").display().to_string()];
        library(&out, &format!("libcudart.so.{major}"), &source, &needs);
    }
    println!("cargo::rustc-env=FAKES={}", out.display());
}

fn library(out: &Path, name: &str, source: &Path, arguments: &[String]) {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args([
        "--edition",
        "2024",
        "--crate-type",
        "cdylib",
        "--crate-name",
        "fake",
        "--cfg",
        "fake_library",
    ]);
    rustc.args(["--target", &variable("TARGET"), "-C", "opt-level=2", "-C", "panic=abort", "-A", "warnings"]);
    rustc.arg("-C").arg(format!("link-arg=-Wl,-soname,{name}")).args(["-C", "link-arg=-Wl,-rpath,$ORIGIN"]);
    // For another machine than this one, cargo knows the linker.
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    for argument in arguments {
        rustc.arg("-C").arg(format!("link-arg={argument}"));
    }
    rustc.arg("-o").arg(out.join(name)).arg(source);
    match rustc.status() {
        Ok(status) if status.success() => {}
        failure => panic!("{rustc:?}: {failure:?}"),
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
