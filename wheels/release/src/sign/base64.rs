//! Standard base64 with padding, and only the one text that encodes given bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serializer};

/// The text of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of `text`; none if it is not base64 in its only form.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// The `N` bytes of `text`.
pub fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

/// Writes bytes as text, for `#[serde(with)]`.
pub fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(bytes.as_ref()))
}

/// Reads bytes from text, for `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>, T: TryFrom<Vec<u8>>>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes =
        decode(&text).ok_or_else(|| serde::de::Error::custom("expected standard base64 with padding"))?;
    let length = bytes.len();
    T::try_from(bytes)
        .map_err(|_| serde::de::Error::custom(format!("{length} bytes of base64 are not the right length")))
}
