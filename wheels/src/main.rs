//! `wheelhouse pack`: a wheel from linked libraries, without building anything.
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use wheelhouse::{component, pack, row};

/// Packs and audits the wheel of one row.
#[derive(Parser)]
struct Arguments {
    /// Row in wheels/rows.toml.
    row: String,
    /// Folder with the linked libraries.
    #[arg(long)]
    libs: PathBuf,
    /// Source tree.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// Folder for the wheel.
    #[arg(long, default_value = "dist")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let components = component::load(&arguments.root.join("wheels/components.toml"))?;
    let rows = row::load(&arguments.root.join("wheels/rows.toml"), &components)?;
    let row = row::find(&rows, &arguments.row)?;
    let version = env!("CARGO_PKG_VERSION").parse()?;
    let wheel = pack::pack(&arguments.root, &arguments.libs, row, &components, &version)?;
    std::fs::create_dir_all(&arguments.out)?;
    let path = arguments.out.join(wheel.name);
    std::fs::write(&path, wheel.bytes)?;
    println!("{}", path.display());
    Ok(())
}
