//! Puts the row's device code beside the library's other outputs; an empty file if the build is for no row.

use anyhow::{Context, Result};
use executorch_cuda_native::{ARCHITECTURES, Config, NVRTC, PTX, Row, VERSION, build};
use std::path::PathBuf;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    for variable in [VERSION, ARCHITECTURES, PTX, NVRTC] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR").context("this is a build script")?).join("kernels.bin");
    match Row::from_environment()? {
        Some(row) => {
            let file = build(&row, &Config::from_build_script()?)?;
            std::fs::copy(&file, &out).with_context(|| format!("cannot copy {}", file.display()))?;
        }
        None => std::fs::write(&out, "")?,
    }
    Ok(())
}
