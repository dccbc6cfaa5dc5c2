//! `cargo xtask rows`: the release matrix.

use crate::place::Place;
use anyhow::Result;
use wheelhouse::{component, row};

/// How the matrix is printed.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Format {
    /// A table.
    Table,
    /// Every field of every row.
    Json,
    /// Jobs that build and gate the rows whose components are built.
    Ci,
}

/// Prints the rows.
pub fn print(place: &Place, format: Format) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    match format {
        Format::Table => print!("{}", row::table(&rows, &components)),
        Format::Json => println!("{}", serde_json::to_string_pretty(&rows)?),
        Format::Ci => println!("{}", serde_json::to_string(&row::ci(&rows, &components))?),
    }
    Ok(())
}
