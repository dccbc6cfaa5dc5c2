//! A lock among processes: build scripts of several cargo commands may want the same folder at once.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::path::Path;

/// Held until dropped, and released by the system if the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock belongs to the open file")] File);

impl Lock {
    /// Waits for the lock of the file `path`, which is made if it is missing and stays behind, empty.
    pub fn wait(path: &Path) -> Result<Self> {
        let context = || format!("cannot lock {}", path.display());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(context)?;
        }
        let file = File::options().create(true).append(true).open(path).with_context(context)?;
        file.lock().with_context(context)?;
        Ok(Self(file))
    }
}
