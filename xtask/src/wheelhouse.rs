//! The `wheelhouse` command, for the tasks that do what a release does.

use crate::place::Place;
use anyhow::Result;
use executorch_tools::command::{run, step};
use std::path::PathBuf;
use std::process::Command;

/// Builds the command, unless it is there; returns its path.
pub fn program(place: &Place) -> Result<PathBuf> {
    step("build wheelhouse", || {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&place.root).env("CARGO_TARGET_DIR", &place.target);
        cargo.args(["build", "--quiet", "--locked", "--profile", "xtask", "--package", "wheelhouse-cli"]);
        run(&mut cargo)
    })?;
    Ok(place.target.join("xtask/wheelhouse"))
}
