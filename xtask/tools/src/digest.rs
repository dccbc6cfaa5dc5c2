//! SHA-256 in hexadecimal.

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::path::Path;

/// The digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

/// The digest of several texts; where one ends and the next begins matters.
pub fn of_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        let text = text.as_ref();
        hash.update(format!("{}\0{text}\0", text.len()));
    }
    hex(&hash.finalize())
}

/// The digest of a file.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// Fails unless the file has the digest.
pub fn verify(path: &Path, expected: &str) -> Result<()> {
    let found = of_file(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(found == expected, "{} has the sha256 {found}, expected {expected}", path.display());
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b"abc"), abc);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(of_file(file.path()).unwrap(), abc);
        verify(file.path(), abc).unwrap();
        assert!(verify(file.path(), &of_bytes(b"x")).unwrap_err().to_string().contains("has the sha256"));
        assert_ne!(of_texts(["ab", "c"]), of_texts(["a", "bc"]));
    }
}
