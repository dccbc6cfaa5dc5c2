//! What identifies data: BLAKE3 of it.

use std::fmt;

/// 256 bits that no two inputs share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; Digest::SIZE]);

impl Digest {
    /// Bytes of a digest.
    pub const SIZE: usize = 32;

    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// A digest that was stored.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    /// To be stored.
    pub fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }

    /// As a part of a file's name.
    pub fn to_hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().as_str().to_owned()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex()[..16])
    }
}

/// Fields in a row, each of which begins with its length or has a fixed one: equal bytes mean equal fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// None yet, of what `kind` names.
    pub fn new(kind: &str) -> Self {
        Self::with_capacity(kind, 256)
    }

    /// The same, with room for as many bytes, so that it need not grow step by step.
    pub fn with_capacity(kind: &str, capacity: usize) -> Self {
        let mut fields = Self(Vec::with_capacity(capacity));
        fields.bytes(kind.as_bytes());
        fields
    }

    /// Adds some bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Adds a count and numbers.
    pub fn numbers<'a>(
        &mut self,
        numbers: impl IntoIterator<Item = &'a usize, IntoIter: ExactSizeIterator>,
    ) -> &mut Self {
        let numbers = numbers.into_iter();
        self.number(numbers.len() as u64);
        for &number in numbers {
            self.number(number as u64);
        }
        self
    }

    /// Adds a number by its bits: the two zeros differ.
    pub fn float(&mut self, number: f32) -> &mut Self {
        self.number(number.to_bits().into())
    }

    /// Adds a digest.
    pub fn digest(&mut self, digest: Digest) -> &mut Self {
        self.0.extend_from_slice(&digest.0);
        self
    }

    /// The digest of all fields.
    pub fn finish(&self) -> Digest {
        Digest::of(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_into_each_other() {
        let two = |a: &[u8], b: &[u8]| Fields::new("test").bytes(a).bytes(b).finish();
        assert_ne!(two(b"ab", b"c"), two(b"a", b"bc"));
        assert_ne!(two(b"", b"abc"), two(b"abc", b""));
        assert_eq!(two(b"a", b"b"), two(b"a", b"b"));
        assert_ne!(Fields::new("a").finish(), Fields::new("b").finish());
        assert_ne!(
            Fields::new("").numbers(&[1, 2]).numbers(&[]).finish(),
            Fields::new("").numbers(&[1]).numbers(&[2]).finish()
        );
    }

    #[test]
    fn a_digest_is_blake3() {
        // The published test vector of the empty input.
        assert_eq!(
            Digest::of(b"").to_hex(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
        let digest = Digest::of(b"abc");
        assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
    }
}
