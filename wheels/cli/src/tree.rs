//! The source tree whose declarations the subcommands read.

use std::path::PathBuf;

use anyhow::Result;
use wheelhouse::component::{self, Components};
use wheelhouse::row::{self, Rows};

/// Where the source tree is.
#[derive(clap::Args)]
pub struct Tree {
    /// Source tree.
    #[arg(long, default_value = ".")]
    pub root: PathBuf,
}

impl Tree {
    /// The components and the rows that the tree declares.
    pub fn declarations(&self) -> Result<(Components, Rows)> {
        let components = component::load(&self.root.join("wheels/components.toml"))?;
        let rows = row::load(&self.root.join("wheels/rows.toml"), &components)?;
        Ok((components, rows))
    }
}
