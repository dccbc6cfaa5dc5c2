//! Libraries of other versions, and incomplete ones: made by the C compiler, with every function that is looked up.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_cuda_driver::sys::{Driver, Runtime};
use executorch_cuda_driver::{Cuda, Error, Loader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a library whose functions do nothing, but for one that tells a version and one that is left out.
fn library(folder: &Path, name: &str, symbols: &[&str], version: (&str, u32), omit: &str) {
    let mut source = String::new();
    for symbol in symbols.iter().filter(|&&symbol| symbol != omit && symbol != version.0) {
        source += &format!("int {symbol}(void) {{ return 0; }}\n");
    }
    source += &format!("int {}(int *version) {{ *version = {}; return 0; }}\n", version.0, version.1);
    let file = folder.join(format!("{name}.c"));
    std::fs::write(&file, source).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join(name))
        .arg(file)
        .status()
        .unwrap();
    assert!(status.success());
}

/// A folder with a driver and runtime libraries of these versions.
fn folder(test: &str, driver: u32, runtimes: &[(u32, u32)], omit: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("versions-{test}"));
    let _not_there_yet = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    library(&folder, "libcuda.so.1", Driver::SYMBOLS, ("cuDriverGetVersion", driver), omit);
    for (major, version) in runtimes {
        let name = format!("libcudart.so.{major}");
        library(&folder, &name, Runtime::SYMBOLS, ("cudaRuntimeGetVersion", *version), omit);
    }
    folder
}

fn load(folder: &Path, majors: &[u32]) -> Result<&'static Cuda, String> {
    let loader = Loader { folders: vec![folder.into()], majors: majors.into() };
    loader.load().map_err(|error| {
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        error.to_string()
    })
}

#[test]
fn a_matching_pair_is_taken() {
    let both = folder("both", 12080, &[(12, 12060), (13, 13000)], "");
    let cuda = load(&both, &[12]).unwrap();
    assert_eq!((cuda.driver_version(), cuda.runtime_version()), (12080, 12060));
    assert_eq!(cuda.runtime_file(), both.join("libcudart.so.12"));
    assert_eq!(cuda.driver_file(), both.join("libcuda.so.1"));
    // Either would do, but the driver is too old for the newer one.
    assert_eq!(load(&both, &[13, 12]).unwrap().runtime_version(), 12060);
    let newer = folder("newer", 13010, &[(12, 12060), (13, 13000)], "");
    assert_eq!(load(&newer, &[13, 12]).unwrap().runtime_version(), 13000);
    assert_eq!(load(&newer, &[12]).unwrap().runtime_version(), 12060, "drivers run older runtimes");
}

#[test]
fn an_old_driver_is_told_from_the_wrong_wheel() {
    let old = folder("old", 12040, &[(13, 13000)], "");
    let text = load(&old, &[13]).unwrap_err();
    assert!(text.contains("supports CUDA 12.4, and CUDA 13.0") && text.contains("+cu126"), "{text}");
    let older = folder("older", 11080, &[(12, 12060)], "");
    let text = load(&older, &[12]).unwrap_err();
    assert!(text.contains("supports CUDA 11.8") && text.contains("Update the driver"), "{text}");
    assert!(load(&older, &[13, 12]).unwrap_err().contains("too old"));
}

#[test]
fn another_major_under_the_name_is_refused() {
    let other = folder("other", 13000, &[(12, 13000)], "");
    let text = load(&other, &[12]).unwrap_err();
    assert!(
        text.contains("is CUDA 13.0, but this build needs CUDA 12") && text.contains("libcudart.so.12"),
        "{text}"
    );
}

#[test]
fn a_missing_function_is_named() {
    for symbol in ["cuLaunchKernel", "cudaMallocAsync"] {
        let text =
            load(&folder(&format!("missing-{symbol}"), 12060, &[(12, 12060)], symbol), &[12]).unwrap_err();
        assert!(text.contains(&format!("has no function {symbol}")), "{text}");
    }
}

#[test]
fn a_missing_runtime_names_the_package() {
    let none = folder("none", 13000, &[], "");
    for (major, package) in [(12, "nvidia-cuda-runtime-cu12"), (13, "pip install nvidia-cuda-runtime,")] {
        // Where the machine has one of its own, it is found.
        if let Err(text) = load(&none, &[major]) {
            assert!(text.contains(package) && text.contains(&format!("libcudart.so.{major}")), "{text}");
        }
    }
}
