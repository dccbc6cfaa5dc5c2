//! The store, the declarations and the keys that the commands on indexes share.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use wheelhouse::component::Components;
use wheelhouse::row::Rows;
use wheelhouse_release::log::Log;
use wheelhouse_release::promote::{self, ApprovalFile, Indexes, Policy, ReportFile};
use wheelhouse_release::sign::PrivateKey;
use wheelhouse_release::store::Store;

use crate::tree::Tree;

/// Which index, and by which rules.
#[derive(clap::Args)]
pub struct Place {
    /// Folder or bucket with staging and the indexes: a path, file:///folder or s3://bucket/prefix.
    #[arg(long)]
    store: String,
    /// Name of the index in indexes.toml.
    #[arg(long)]
    pub index: String,
    /// Who may publish what; wheels/indexes.toml of the source tree if it is not given.
    #[arg(long)]
    indexes: Option<PathBuf>,
    #[command(flatten)]
    tree: Tree,
}

/// What [`Place`] names, opened and read.
pub struct Site {
    pub store: Store,
    pub indexes: Indexes,
    pub rows: Rows,
    pub components: Components,
}

impl Place {
    pub fn open(&self) -> Result<Site> {
        let path = self.indexes.clone().unwrap_or_else(|| self.tree.root.join("wheels/indexes.toml"));
        let (components, rows) = self.tree.declarations()?;
        Ok(Site { store: Store::open(&self.store)?, indexes: Indexes::load(&path)?, rows, components })
    }
}

impl Site {
    pub fn site(&self) -> promote::Site<'_> {
        promote::Site {
            store: &self.store,
            indexes: &self.indexes,
            rows: &self.rows,
            components: &self.components,
        }
    }

    pub fn policy(&self, index: &str) -> Result<&Policy> {
        self.indexes.find(index)
    }

    /// Brings the files of `index` to what its log says.
    pub fn settle(&self, index: &str) -> Result<Log> {
        promote::settle(&self.store, index, self.policy(index)?)
    }
}

/// Reads a private key.
pub fn key(path: &Path) -> Result<PrivateKey> {
    Ok(PrivateKey::load(path)?)
}

/// The time at which a command happens.
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// The reports about a wheel in a folder.
pub fn reports(folder: &Path, wheel: &str) -> Result<Vec<ReportFile>> {
    promote::find_reports(folder, wheel)
}

/// The approvals of a wheel in a folder.
pub fn approvals(folder: &Path, wheel: &str) -> Result<Vec<ApprovalFile>> {
    promote::find_approvals(folder, wheel)
}

/// Writes a file that must not be there yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut file = fs::File::create_new(path)
        .with_context(|| format!("cannot write {}: name a file that is not there yet", path.display()))?;
    file.write_all(bytes).with_context(|| path.display().to_string())
}
