//! A signature in a file of its own, beside what it signs.

use serde::{Deserialize, Serialize};
use wheelhouse::digest::sha256;

use super::{PrivateKey, PublicKey, SignError, base64};

/// A signature file (JSON). `payload_type` and `payload_sha256` say for people and errors what was signed; what
/// counts is the signature, which covers the type and the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The signer.
    pub key: PublicKey,
    #[serde(with = "base64")]
    signature: [u8; 64],
    /// The kind of payload, a media type.
    pub payload_type: String,
    /// SHA-256 of the payload, in lower-case hexadecimal digits.
    pub payload_sha256: String,
}

impl Signature {
    /// Signs `payload` of the type.
    pub fn new(key: &PrivateKey, payload_type: &str, payload: &[u8]) -> Self {
        Self {
            key: key.public(),
            signature: key.sign(payload_type, payload),
            payload_type: payload_type.to_owned(),
            payload_sha256: sha256(payload),
        }
    }

    /// Reads a signature file.
    pub fn from_json(text: &[u8]) -> Result<Self, SignError> {
        serde_json::from_slice(text).map_err(|source| SignError::Format { what: "signature file", source })
    }

    /// The text of the signature file, with a line end.
    pub fn to_json(&self) -> String {
        let value = serde_json::json!({
            "key": self.key.to_string(),
            "signature": base64::encode(&self.signature),
            "payload_type": self.payload_type,
            "payload_sha256": self.payload_sha256,
        });
        format!("{value:#}\n")
    }

    /// Checks that this is a signature over `payload` of the type by one of the `trusted` keys; gives the signer.
    pub fn verify(
        &self,
        payload_type: &str,
        payload: &[u8],
        trusted: &[PublicKey],
    ) -> Result<PublicKey, SignError> {
        if !trusted.contains(&self.key) {
            return Err(SignError::Untrusted { key: self.key, trusted: trusted.len() });
        }
        if self.payload_type != payload_type {
            return Err(SignError::PayloadType {
                expected: payload_type.to_owned(),
                found: self.payload_type.clone(),
            });
        }
        let found = sha256(payload);
        if self.payload_sha256 != found {
            return Err(SignError::PayloadDigest { signed: self.payload_sha256.clone(), found });
        }
        self.key.verify(payload_type, payload, &self.signature)?;
        Ok(self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "application/vnd.example+json";

    #[test]
    fn files_round_trip_and_name_the_signer() {
        let key = PrivateKey::from_seed(&[1; 32]);
        let signature = Signature::new(&key, TYPE, b"{}");
        let text = signature.to_json();
        assert_eq!(Signature::from_json(text.as_bytes()).unwrap(), signature);
        assert_eq!(signature.verify(TYPE, b"{}", &[key.public()]).unwrap(), key.public());
        // SHA-256 of `{}`.
        assert_eq!(
            signature.payload_sha256,
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn every_change_is_refused_for_its_reason() {
        let (key, other) = (PrivateKey::from_seed(&[1; 32]), PrivateKey::from_seed(&[2; 32]));
        let good = Signature::new(&key, TYPE, b"payload");
        let trusted = [key.public(), other.public()];
        let fails =
            |signature: &Signature, payload: &[u8]| signature.verify(TYPE, payload, &trusted).unwrap_err();

        assert!(matches!(good.verify(TYPE, b"payload", &[]), Err(SignError::Untrusted { .. })));
        assert!(matches!(
            good.verify(TYPE, b"payload", &[other.public()]),
            Err(SignError::Untrusted { trusted: 1, .. })
        ));
        assert!(matches!(fails(&good, b"payload2"), SignError::PayloadDigest { .. }));
        assert!(matches!(good.verify("other", b"payload", &trusted), Err(SignError::PayloadType { .. })));

        // The words beside the signature are changed to match, so that only the signature itself can tell.
        let relabelled = Signature { payload_type: "other".into(), ..good.clone() };
        assert!(matches!(relabelled.verify("other", b"payload", &trusted), Err(SignError::Invalid { .. })));
        let moved = Signature { payload_sha256: sha256(b"payload2"), ..good.clone() };
        assert!(matches!(fails(&moved, b"payload2"), SignError::Invalid { .. }));
        let stolen = Signature { key: other.public(), ..good.clone() };
        assert!(matches!(fails(&stolen, b"payload"), SignError::Invalid { .. }));
    }

    #[test]
    fn other_forms_of_the_file_are_refused() {
        let text = Signature::new(&PrivateKey::from_seed(&[1; 32]), TYPE, b"").to_json();
        let signature = base64::encode(&Signature::from_json(text.as_bytes()).unwrap().signature);
        for (from, to) in [
            ("\"key\"", "\"more\": 1, \"key\""),
            ("\"payload_sha256\"", "\"payload_sha\""),
            ("ed25519:", "ed448:"),
            (&signature[..], &signature[4..]),
            ("==\"", "\""),
        ] {
            assert!(text.contains(from), "{from}");
            let changed = text.replace(from, to);
            let error = Signature::from_json(changed.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("not a signature file: "), "{error}");
        }
    }
}
