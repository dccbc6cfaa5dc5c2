//! Builds the library for an architecture without the rest of the project, and prints its folder: `build-xnnpack ARCH`.
//! The variables of `docs/xnnpack-build.md` say where things come from and go to; tools are kept in `target/tools`.

use anyhow::{Context, Result};
use executorch_xnnpack_native::{Config, Target, build};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("build-xnnpack: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arch = std::env::args().nth(1).context("usage: build-xnnpack ARCH, which is x86_64 or aarch64")?;
    let target = std::path::absolute(Path::new("target"))?;
    let library = build(&Config::from_environment(Target::from_arch(&arch)?, &target))?;
    println!("{}", library.root().display());
    Ok(())
}
