//! DSSE envelopes: a payload with its signatures in one JSON file.

use serde::{Deserialize, Serialize};

use super::{PrivateKey, PublicKey, SignError, base64};

/// A payload and signatures over it (Dead Simple Signing Envelope, version 1). The payload is reached only through
/// [`Envelope::verify`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    payload_type: String,
    #[serde(with = "base64")]
    payload: Vec<u8>,
    signatures: Vec<Sealed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sealed {
    /// Only a hint: the key that verifies is the one that is trusted, never one that the envelope brings along.
    #[serde(default)]
    keyid: String,
    #[serde(with = "base64")]
    sig: Vec<u8>,
}

impl Envelope {
    /// Signs `payload` of the type.
    pub fn new(key: &PrivateKey, payload_type: &str, payload: Vec<u8>) -> Self {
        let sealed =
            Sealed { keyid: key.public().to_string(), sig: key.sign(payload_type, &payload).to_vec() };
        Self { payload_type: payload_type.to_owned(), payload, signatures: vec![sealed] }
    }

    /// Reads an envelope.
    pub fn from_json(text: &[u8]) -> Result<Self, SignError> {
        serde_json::from_slice(text).map_err(|source| SignError::Format { what: "DSSE envelope", source })
    }

    /// The envelope's text: one line, with a line end.
    pub fn to_json(&self) -> String {
        let signatures: Vec<_> = self
            .signatures
            .iter()
            .map(|sealed| serde_json::json!({ "keyid": sealed.keyid, "sig": base64::encode(&sealed.sig) }))
            .collect();
        let value = serde_json::json!({
            "payloadType": self.payload_type,
            "payload": base64::encode(&self.payload),
            "signatures": signatures,
        });
        format!("{value}\n")
    }

    /// The payload, if it is of the type and one of the `trusted` keys signed it, and that key.
    pub fn verify(&self, payload_type: &str, trusted: &[PublicKey]) -> Result<(&[u8], PublicKey), SignError> {
        if self.payload_type != payload_type {
            return Err(SignError::PayloadType {
                expected: payload_type.to_owned(),
                found: self.payload_type.clone(),
            });
        }
        let mut error = SignError::NoneTrusted { signatures: self.signatures.len(), trusted: trusted.len() };
        for sealed in &self.signatures {
            let Some(key) = trusted.iter().find(|key| key.to_string() == sealed.keyid) else { continue };
            error = SignError::Invalid { key: *key };
            let Ok(signature) = sealed.sig.as_slice().try_into() else { continue };
            if key.verify(payload_type, &self.payload, signature).is_ok() {
                return Ok((&self.payload, *key));
            }
        }
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "application/vnd.in-toto+json";

    #[test]
    fn the_payload_comes_back_with_its_signer() {
        let key = PrivateKey::from_seed(&[1; 32]);
        let text = Envelope::new(&key, TYPE, b"{\"a\":1}".to_vec()).to_json();
        let read = Envelope::from_json(text.as_bytes()).unwrap();
        assert_eq!(read.verify(TYPE, &[key.public()]).unwrap(), (&b"{\"a\":1}"[..], key.public()));
        // The format's field names.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["payloadType"], TYPE);
        assert_eq!(value["payload"], "eyJhIjoxfQ==");
        assert_eq!(value["signatures"][0]["keyid"], key.public().to_string());
    }

    #[test]
    fn one_trusted_signature_among_others_is_enough() {
        let (key, other) = (PrivateKey::from_seed(&[1; 32]), PrivateKey::from_seed(&[2; 32]));
        let mut envelope = Envelope::new(&other, TYPE, b"x".to_vec());
        envelope.signatures.extend(Envelope::new(&key, TYPE, b"x".to_vec()).signatures);
        assert_eq!(envelope.verify(TYPE, &[key.public()]).unwrap().1, key.public());
    }

    #[test]
    fn changes_are_refused() {
        let (key, other) = (PrivateKey::from_seed(&[1; 32]), PrivateKey::from_seed(&[2; 32]));
        let good = Envelope::new(&key, TYPE, b"payload".to_vec());
        let trusted = [key.public()];
        let change = |with: &dyn Fn(&mut Envelope)| {
            let mut envelope = good.clone();
            with(&mut envelope);
            envelope.verify(TYPE, &trusted).unwrap_err()
        };
        assert!(matches!(good.verify(TYPE, &[other.public()]), Err(SignError::NoneTrusted { .. })));
        assert!(matches!(good.verify("other", &trusted), Err(SignError::PayloadType { .. })));
        assert!(matches!(change(&|e| e.payload[0] ^= 1), SignError::Invalid { .. }));
        assert!(matches!(change(&|e| e.signatures[0].sig[3] ^= 1), SignError::Invalid { .. }));
        assert!(matches!(change(&|e| e.signatures[0].sig.truncate(63)), SignError::Invalid { .. }));
        assert!(matches!(change(&|e| e.signatures.clear()), SignError::NoneTrusted { signatures: 0, .. }));
        let text = good.to_json();
        assert!(Envelope::from_json(text.replace("payloadType", "type").as_bytes()).is_err());
        assert!(Envelope::from_json(text.replace("cGF5bG9hZA==", "cGF5bG9hZA").as_bytes()).is_err());
    }
}
