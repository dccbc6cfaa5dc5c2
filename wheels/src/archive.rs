//! A zip archive whose bytes depend on nothing but the files in it.

use std::io::{self, Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// One file of a wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path in the archive, with `/`.
    pub path: String,
    /// Bytes.
    pub data: Vec<u8>,
    /// Whether the file is executable (shared libraries are).
    pub executable: bool,
}

/// The archive of `entries` in the given order: fixed time (1980-01-01), modes and compression level.
pub fn write(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .unix_permissions(if entry.executable { 0o755 } else { 0o644 });
        zip.start_file(entry.path.as_str(), options)?;
        zip.write_all(&entry.data)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// Every file of an archive that is trusted, in the archive's order.
pub fn read(bytes: &[u8]) -> io::Result<Vec<Entry>> {
    let mut zip = ZipArchive::new(Cursor::new(bytes))?;
    let mut entries = Vec::with_capacity(zip.len());
    for index in 0..zip.len() {
        let mut file = zip.by_index(index)?;
        let mut data = Vec::new();
        file.read_to_end(&mut data)?;
        let executable = file.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        entries.push(Entry { path: file.name().to_owned(), data, executable });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Entry> {
        vec![
            Entry { path: "a/lib.so".into(), data: vec![7; 10_000], executable: true },
            Entry { path: "b.txt".into(), data: b"text".to_vec(), executable: false },
        ]
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(read(&write(&sample()).unwrap()).unwrap(), sample());
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let first = write(&sample()).unwrap();
        // Zip times have a resolution of two seconds.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        assert_eq!(first, write(&sample()).unwrap());
    }
}
