//! The files of a wheel that are taken from the source tree as they are, or rendered from templates there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::archive::Entry;

/// Adds the files below `from` that `keep` accepts, under `to`.
pub fn add(entries: &mut Vec<Entry>, from: &Path, to: &str, keep: &dyn Fn(&str) -> bool) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for item in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let item = item?;
        let name = item.file_name().to_string_lossy().into_owned();
        let path = format!("{to}/{name}");
        if item.file_type()?.is_dir() {
            add(entries, &item.path(), &path, keep)?;
        } else if keep(&name) {
            entries.push(Entry { path, data: fs::read(item.path())?, executable: false });
        }
    }
    Ok(())
}
