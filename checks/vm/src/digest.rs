//! SHA-256 in hexadecimal.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::path::Path;

/// The digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

/// The digest of several texts; where one ends and the next begins matters.
pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
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
        assert_ne!(of_texts(["ab", "c"]), of_texts(["a", "bc"]));
    }
}
