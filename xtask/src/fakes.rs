//! `cargo xtask fakes ROW FOLDER`: the libraries that stand in for NVIDIA's where there is no GPU (`delegates/cuda/fakes`), linked
//! against the glibc of the row's floor, for machines other than this one.

use crate::place::Place;
use crate::wheel;
use anyhow::{Context, Result, ensure};
use executorch_tools::command::output;
use std::fs;
use std::path::{Path, PathBuf};
use wheelhouse::component;
use wheelhouse::row::{self, Row};

const PACKAGE: &str = "executorch-cuda-fakes";
const DRIVER: &str = "libcuda.so.1";

/// Builds those of the row called `name` into `folder`.
pub fn build_named(place: &Place, name: &str, folder: &Path) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    build(place, row::find(&rows, name)?, folder)
}

/// Builds the driver and the row's runtime into `folder`.
pub fn build(place: &Place, row: &Row, folder: &Path) -> Result<()> {
    let names: Vec<&str> =
        row.external.keys().map(String::as_str).filter(|name| name.starts_with("libcudart.so.")).collect();
    ensure!(!names.is_empty(), "row `{}` has no CUDA runtime among its external libraries", row.name);
    let zig = place.tools.zig()?;
    let stage = place.target.join("wheel").join(&row.name);
    let mut cargo = wheel::cargo_for(place, &zig, &stage, row)?;
    // The crate's build script compiles them; cargo tells where.
    cargo.args(["build", "--quiet", "--locked", "--release", "--message-format=json", "--package", PACKAGE]);
    let told = output(cargo.args(["--target", &row.system.triple()]))?;
    let built = told.lines().find_map(out_dir).context("cargo does not tell where the stand-ins are")?;
    fs::create_dir_all(folder)?;
    for name in names.into_iter().chain([DRIVER]) {
        let from = built.join(name);
        fs::copy(&from, folder.join(name)).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// The folder of the build script's results, if the message tells it.
fn out_dir(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_ours = message["reason"] == "build-script-executed"
        && message["package_id"].as_str()?.contains("cuda/fakes");
    is_ours.then(|| message["out_dir"].as_str().map(PathBuf::from)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_crate_s_folder_is_taken() {
        let told = |reason: &str, package: &str| {
            out_dir(&format!(
                r#"{{"reason":"{reason}","package_id":"path+file:///r/{package}#1.5.0","out_dir":"/o"}}"#
            ))
        };
        assert_eq!(told("build-script-executed", "delegates/cuda/fakes"), Some("/o".into()));
        assert_eq!(told("build-script-executed", "delegates/cuda/kernels"), None);
        assert_eq!(told("compiler-artifact", "delegates/cuda/fakes"), None);
        assert_eq!(out_dir("cargo says something else"), None);
    }
}
