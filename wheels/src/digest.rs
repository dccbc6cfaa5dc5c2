//! The SHA-256 by which files are named, compared and promoted.

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes` in lower-case hexadecimal digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Whether `text` is a SHA-256 as [`sha256`] writes it.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 180-2, B.1.
    #[test]
    fn a_published_digest() {
        let digest = sha256("abc");
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(is_sha256(&digest));
        for other in ["", &digest[1..], &digest.to_uppercase(), &format!("{digest}0")] {
            assert!(!is_sha256(other), "{other}");
        }
    }
}
