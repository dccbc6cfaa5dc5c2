//! The files of a wheel that are taken from the source tree as they are, or rendered from templates there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::archive::Entry;

/// Adds the files below `from` that `keep` accepts, under `to`. A folder that is not there, or gives nothing, is an error:
/// a wheel without it would be broken.
pub fn add(entries: &mut Vec<Entry>, from: &Path, to: &str, keep: &dyn Fn(&str) -> bool) -> Result<()> {
    let before = entries.len();
    walk(entries, from, to, keep)?;
    if entries.len() == before {
        bail!("{}: nothing there belongs into the wheel", from.display());
    }
    Ok(())
}

fn walk(entries: &mut Vec<Entry>, from: &Path, to: &str, keep: &dyn Fn(&str) -> bool) -> Result<()> {
    for item in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let item = item?;
        let name = item.file_name().to_string_lossy().into_owned();
        let path = format!("{to}/{name}");
        if item.file_type()?.is_dir() {
            walk(entries, &item.path(), &path, keep)?;
        } else if keep(&name) {
            entries.push(Entry { path, data: fs::read(item.path())?, executable: false });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_is_kept_and_refuses_an_empty_harvest() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        for name in ["a/x.py", "a/b/y.py", "a/b/z.pyc"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let mut entries = Vec::new();
        add(&mut entries, &dir.path().join("a"), "p", &|name| name.ends_with(".py")).unwrap();
        let mut paths: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
        paths.sort();
        assert_eq!(paths, ["p/b/y.py", "p/x.py"]);
        for (folder, suffix) in [("missing", ".py"), ("a", ".none")] {
            let keep = |name: &str| name.ends_with(suffix);
            let error = add(&mut Vec::new(), &dir.path().join(folder), "p", &keep).unwrap_err();
            assert!(format!("{error:#}").contains(folder));
        }
    }
}
