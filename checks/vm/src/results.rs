//! Results come out of a machine as an archive on its third disk.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The archive's last file, which proves that it is whole.
const END: &str = ".executorch-vm-end";

/// What the machine says about the command.
#[derive(Debug, PartialEq)]
pub struct End {
    /// The exit status; 124 and 137 are those of a command that ran out of time.
    pub status: i32,
    /// How long it took.
    pub seconds: f64,
}

/// Unpacks the archive at the start of `disk` into `dir`. Only files and folders are taken over.
pub fn unpack(disk: &Path, dir: &Path) -> Result<End> {
    let mut archive = tar::Archive::new(File::open(disk)?);
    archive.set_preserve_mtime(false);
    for entry in archive.entries()? {
        let mut entry = entry.context("the results are cut off")?;
        let path = entry.path()?.into_owned();
        if path == Path::new(END) {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            return parse(&text).with_context(|| format!("the machine's last words are {text:?}"));
        }
        let kind = entry.header().entry_type();
        if kind.is_file() || kind.is_dir() {
            let inside = entry.unpack_in(dir).with_context(|| format!("cannot unpack {}", path.display()))?;
            if !inside {
                bail!("the results name a file outside of their folder: {}", path.display());
            }
        }
    }
    bail!("the results are cut off")
}

fn parse(text: &str) -> Option<End> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let seconds = |name| field(name)?.parse::<f64>().ok();
    Some(End { status: field("status")?.parse().ok()?, seconds: seconds("end")? - seconds("begin")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn disk(entries: &[(&str, &str)], size: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut builder = tar::Builder::new(File::create(file.path()).unwrap());
        for (name, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().set_len(size).unwrap();
        file
    }

    const LAST: (&str, &str) = (END, "status 3\nbegin 1.25\nend 3.75\n");

    #[test]
    fn whole_archives_are_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let end = unpack(disk(&[("./report.json", "{}"), LAST], 1 << 20).path(), dir.path()).unwrap();
        assert_eq!(end, End { status: 3, seconds: 2.5 });
        assert_eq!(fs::read_to_string(dir.path().join("report.json")).unwrap(), "{}");
        assert!(!dir.path().join(END).exists());
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = |entries: &[(&str, &str)], size| {
            format!("{:#}", unpack(disk(entries, size).path(), dir.path()).unwrap_err())
        };
        assert!(refusal(&[("./report.json", "{}")], 1 << 20).contains("cut off"));
        assert!(refusal(&[], 1 << 20).contains("cut off"));
        assert!(refusal(&[(END, "status x\n")], 1 << 20).contains("last words"));
        // The disk ends within a file.
        assert!(!refusal(&[("./a", &"x".repeat(4000)), LAST], 1024).is_empty());
    }

    #[test]
    fn nothing_is_written_outside() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let error = unpack(disk(&[("../outside", "x"), LAST], 1 << 20).path(), &inner).unwrap_err();
        assert!(error.to_string().contains("outside"), "{error:#}");
        assert!(!dir.path().join("outside").exists());
    }
}
