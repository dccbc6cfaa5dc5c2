//! Ed25519 signatures over statements, approvals and log entries.
//!
//! What is signed is never the bare payload but its pre-authentication encoding ([`pae`], the one of DSSE), which
//! binds the payload's type: a signature of an approval can never pass as one of a log entry, whatever the bytes.
//! [`Signature`] is a signature in a file of its own; [`Envelope`] carries payload and signatures together.
//!
//! Verification always names the keys that are trusted, so that a valid signature by just anybody proves nothing.

mod base64;
mod envelope;
mod key;
mod signature;

pub use envelope::Envelope;
pub use key::{PrivateKey, PublicKey};
pub use signature::Signature;

use std::path::PathBuf;

/// Why signing or verifying did not work.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// A public key's text is no usable key.
    #[error("`{text}` is not a public key: {why}; expected ed25519: and 32 bytes in base64")]
    PublicKey {
        /// What was found.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A key file cannot be read or written.
    #[error("cannot {what} the private key {}: {source}", path.display())]
    KeyFile {
        /// `read` or `write`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Others than its owner may use a private key's file.
    #[error(
        "the private key {} has mode {mode:03o}: others can use it; make a new key, or chmod 600 if it is certain that nobody has read it",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file holds no private key.
    #[error("{} is not a private key: expected one line, ed25519-private: and 32 bytes in base64", path.display())]
    PrivateKey {
        /// The file.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a key: {0}")]
    Random(getrandom::Error),
    /// A signature file or an envelope does not have its form.
    #[error("not a {what}: {source}")]
    Format {
        /// `signature file` or `envelope`.
        what: &'static str,
        /// What the reader found.
        source: serde_json::Error,
    },
    /// A signature is of another kind of payload.
    #[error("the signature is for a payload of type `{found}`, expected `{expected}`")]
    PayloadType {
        /// The type that is asked for.
        expected: String,
        /// The type that was signed.
        found: String,
    },
    /// A signature file is about other bytes.
    #[error(
        "the signature is for a payload with sha256 {signed}, but the payload has {found}: it was changed, or the signature belongs to another file"
    )]
    PayloadDigest {
        /// The digest in the signature file.
        signed: String,
        /// The digest of the payload at hand.
        found: String,
    },
    /// The signer is none of those that are trusted.
    #[error("signed by {key}, which is not one of the {trusted} trusted keys")]
    Untrusted {
        /// The signer.
        key: PublicKey,
        /// How many keys are trusted.
        trusted: usize,
    },
    /// An envelope has no signature by a trusted key.
    #[error("none of the envelope's {signatures} signatures names one of the {trusted} trusted keys")]
    NoneTrusted {
        /// How many signatures the envelope has.
        signatures: usize,
        /// How many keys are trusted.
        trusted: usize,
    },
    /// The signature does not verify.
    #[error("the signature by {key} does not verify: payload or signature was changed")]
    Invalid {
        /// The key that it should be by.
        key: PublicKey,
    },
}

/// The bytes that are signed for a payload: DSSE's pre-authentication encoding, version 1.
///
/// Both parts stand there with their lengths, so no two pairs of type and payload have the same encoding.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_of_the_published_example() {
        // The protocol's own example: payload type and payload, https://github.com/secure-systems-lab/dsse, protocol.md.
        let bytes = pae("http://example.com/HelloWorld", b"hello world");
        assert_eq!(bytes, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn lengths_count_bytes_and_separate_the_parts() {
        assert_eq!(pae("\u{e9}", b""), b"DSSEv1 2 \xc3\xa9 0 ");
        assert_ne!(pae("a", b"1 b"), pae("a 1", b"b"));
    }
}
