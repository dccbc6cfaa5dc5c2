//! Keys: their texts and files.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::str::FromStr;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use super::{SignError, base64, pae};

const PUBLIC: &str = "ed25519:";
const PRIVATE: &str = "ed25519-private:";
/// More than any key file has.
const LONGEST_FILE: u64 = 256;

/// A public key, written as `ed25519:` and base64. Each key has exactly one text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key of 32 encoded bytes. Keys that anybody can sign for (of small order) and second encodings of a point
    /// are refused, so that equal keys have equal bytes.
    fn from_bytes(bytes: &[u8; 32]) -> Result<Self, &'static str> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| "the bytes are no point of the curve")?;
        if key.is_weak() {
            return Err("it has small order, so that anybody can sign for it");
        }
        if key.to_edwards().compress().as_bytes() != bytes {
            return Err("it is not in its shortest form");
        }
        Ok(Self(*bytes))
    }

    /// Whether `signature` is this key's over `payload` of the type. Only the one canonical signature passes.
    pub(super) fn verify(
        &self,
        payload_type: &str,
        payload: &[u8],
        signature: &[u8; 64],
    ) -> Result<(), SignError> {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        VerifyingKey::from_bytes(&self.0)
            .and_then(|key| key.verify_strict(&pae(payload_type, payload), &signature))
            .map_err(|_| SignError::Invalid { key: *self })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", base64::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = SignError;

    fn from_str(text: &str) -> Result<Self, SignError> {
        let error = |why| SignError::PublicKey { text: text.to_owned(), why };
        let digits = text.strip_prefix(PUBLIC).ok_or_else(|| error("it does not begin with ed25519:"))?;
        let bytes = base64::decode_array(digits).ok_or_else(|| error("it is not 32 bytes of base64"))?;
        Self::from_bytes(&bytes).map_err(error)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A private key. Its memory is cleared when it is dropped, and it has no `Debug` that could show it.
pub struct PrivateKey(SigningKey);

impl PrivateKey {
    /// A new key from the system's random numbers.
    pub fn generate() -> Result<Self, SignError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(SignError::Random)?;
        Ok(Self::from_seed(&seed))
    }

    /// The key of a 32-byte seed (RFC 8032's private key).
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// Reads a key file; refuses one that others than its owner can read or write.
    pub fn load(path: &Path) -> Result<Self, SignError> {
        let error = |source| SignError::KeyFile { what: "read", path: path.to_owned(), source };
        let file = File::open(path).map_err(error)?;
        // Asked of the open file: the name may mean another one by now.
        let mode = file.metadata().map_err(error)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(SignError::Exposed { path: path.to_owned(), mode });
        }
        let mut text = Zeroizing::new(String::with_capacity(LONGEST_FILE as usize));
        file.take(LONGEST_FILE).read_to_string(&mut text).map_err(error)?;
        let seed = text.trim_end_matches('\n').strip_prefix(PRIVATE).and_then(base64::decode_array);
        let seed = Zeroizing::new(seed.ok_or_else(|| SignError::PrivateKey { path: path.to_owned() })?);
        Ok(Self::from_seed(&seed))
    }

    /// Writes a new key file with mode 0600; an existing file is never replaced.
    pub fn save(&self, path: &Path) -> Result<(), SignError> {
        let error = |source| SignError::KeyFile { what: "write", path: path.to_owned(), source };
        let seed = Zeroizing::new(self.0.to_bytes());
        let text = Zeroizing::new(format!("{PRIVATE}{}\n", *Zeroizing::new(base64::encode(seed.as_ref()))));
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(error)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(error)
    }

    /// Signs `payload` of the type.
    pub(super) fn sign(&self, payload_type: &str, payload: &[u8]) -> [u8; 64] {
        self.0.sign(&pae(payload_type, payload)).to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        let digits: String = text.split_whitespace().collect();
        std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
    }

    /// RFC 8032, 7.1, tests 1 to 3: private key, public key, message, signature.
    const VECTORS: [(&str, &str, &[u8], &str); 3] = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            b"",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
             5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            &[0x72],
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            &[0xaf, 0x82],
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
             18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ];

    #[test]
    fn published_vectors() {
        for (seed, public, message, signature) in VECTORS {
            let key = PrivateKey::from_seed(&hex(seed));
            assert_eq!(key.public().0, hex::<32>(public));
            assert_eq!(key.0.sign(message).to_bytes(), hex::<64>(signature));
            let text = key.public().to_string();
            assert_eq!(text.parse::<PublicKey>().unwrap(), PublicKey::from_bytes(&hex(public)).unwrap());
        }
    }

    #[test]
    fn second_forms_of_a_signature_are_refused() {
        let key = PrivateKey::from_seed(&hex(VECTORS[0].0));
        let good = key.sign("t", b"payload");
        assert!(key.public().verify("t", b"payload", &good).is_ok());
        // s + the group's order satisfies the equation, too.
        let order: [u8; 32] = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
        let mut second = good;
        let mut carry = 0;
        for (byte, add) in second[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
        assert_eq!(carry, 0);
        assert!(key.public().verify("t", b"payload", &second).is_err());
        for bit in 0..512 {
            let mut wrong = good;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(key.public().verify("t", b"payload", &wrong).is_err(), "bit {bit}");
        }
        assert!(key.public().verify("u", b"payload", &good).is_err());
        assert!(key.public().verify("t", b"payloae", &good).is_err());
    }

    #[test]
    fn keys_that_anybody_can_sign_for_are_refused() {
        // The neutral element, a point of order 4 (y = 0), and the neutral element with y = p + 1.
        for bytes in [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ] {
            let text = format!("ed25519:{}", base64::encode(&hex::<32>(bytes)));
            assert!(text.parse::<PublicKey>().is_err(), "{bytes}");
        }
        // y + p is a second text of the point with a small y.
        let point = |first: u8, rest: u8, last: u8| {
            let mut bytes = [rest; 32];
            (bytes[0], bytes[31]) = (first, last);
            PublicKey::from_bytes(&bytes)
        };
        assert!((2..19).any(|y| point(y, 0, 0).is_ok()), "no small y is on the curve");
        assert!((2..19).all(|y| point(0xed + y, 0xff, 0x7f).is_err()));
    }

    #[test]
    fn texts_of_keys_have_one_form() {
        let good = PrivateKey::from_seed(&[7; 32]).public().to_string();
        let bare = good.strip_prefix("ed25519:").unwrap();
        for bad in [
            "",
            "ed25519:",
            bare,
            &format!("ed25519: {bare}"),
            &format!("{good}\n"),
            &format!("rsa:{bare}"),
            good.trim_end_matches('='),
            &good[..good.len() - 5],
        ] {
            assert!(bad.parse::<PublicKey>().is_err(), "{bad:?}");
        }
        assert_eq!(
            serde_json::to_string(&good.parse::<PublicKey>().unwrap()).unwrap(),
            format!("\"{good}\"")
        );
    }

    #[test]
    fn key_files_are_for_their_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = PrivateKey::generate().unwrap();
        key.save(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(PrivateKey::load(&path).unwrap().public(), key.public());
        assert!(matches!(key.save(&path), Err(SignError::KeyFile { what: "write", .. })));
        for mode in [0o640, 0o604, 0o620, 0o644, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(PrivateKey::load(&path), Err(SignError::Exposed { .. })), "{mode:o}");
        }
    }

    #[test]
    fn files_that_hold_no_key_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert!(matches!(PrivateKey::load(&path), Err(SignError::KeyFile { what: "read", .. })));
        let public = PrivateKey::from_seed(&[7; 32]).public().to_string();
        let private = format!("ed25519-private:{}", base64::encode(&[7; 32]));
        for text in ["", "ed25519-private:", &public, &private[..private.len() - 5], &private.repeat(2)] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(PrivateKey::load(&path), Err(SignError::PrivateKey { .. })), "{text:?}");
        }
        let two = [PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap()];
        assert_ne!(two[0].public(), two[1].public());
    }
}
