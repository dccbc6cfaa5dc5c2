//! `wheelhouse pack`: a wheel from linked libraries, without building anything.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use wheelhouse::{pack, row};

use crate::tree::Tree;

/// Packs and audits the wheel of one row; prints its path.
#[derive(clap::Args)]
pub struct Arguments {
    /// Row in wheels/rows.toml.
    row: String,
    /// Folder with the linked libraries.
    #[arg(long)]
    libs: PathBuf,
    #[command(flatten)]
    tree: Tree,
    /// Folder for the wheel.
    #[arg(long, default_value = "dist")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (components, rows) = arguments.tree.declarations()?;
    let row = row::find(&rows, &arguments.row)?;
    let version = env!("CARGO_PKG_VERSION").parse()?;
    let wheel = pack::pack(&arguments.tree.root, &arguments.libs, row, &components, &version)?;
    std::fs::create_dir_all(&arguments.out).with_context(|| arguments.out.display().to_string())?;
    let path = arguments.out.join(wheel.name);
    std::fs::write(&path, wheel.bytes).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}
