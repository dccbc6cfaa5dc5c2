//! Release numbers: `X.Y.Z`, with a local label for accelerator rows (`X.Y.Z+cu126`).

use std::fmt;
use std::str::FromStr;

/// A release of this project, the part of PEP 440 that it uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Upstream's release, whose formats and SDK this one matches.
    pub major: u32,
    /// See `major`.
    pub minor: u32,
    /// Our own release number.
    pub patch: u32,
    /// Local version label, empty for none.
    pub label: String,
}

/// Why a text is not a version.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a version: expected X.Y.Z or X.Y.Z+label with a lower-case alphanumeric label")]
pub struct ParseVersionError(String);

impl Version {
    /// The same release with the label of a row.
    pub fn with_label(&self, label: &str) -> Result<Self, ParseVersionError> {
        let base = format!("{}.{}.{}", self.major, self.minor, self.patch);
        if label.is_empty() { base.parse() } else { format!("{base}+{label}").parse() }
    }

    /// `X.Y.Z` without the label.
    pub fn release(&self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.release())?;
        if self.label.is_empty() { Ok(()) } else { write!(f, "+{}", self.label) }
    }
}

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseVersionError(text.to_owned());
        let (release, label) = match text.split_once('+') {
            Some((release, label)) if is_label(label) => (release, label),
            Some(_) => return Err(error()),
            None => (text, ""),
        };
        let numbers = release.split('.').map(number).collect::<Option<Vec<_>>>().ok_or_else(error)?;
        match numbers[..] {
            [major, minor, patch] => Ok(Self { major, minor, patch, label: label.to_owned() }),
            _ => Err(error()),
        }
    }
}

/// A decimal number in its normal form: no sign, no leading zero.
fn number(text: &str) -> Option<u32> {
    let value: u32 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_what_releases_use() {
        for text in ["1.5.0", "1.5.12+cu126", "10.0.3+jp62"] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "1.5", "1.5.0.1", "1.05.0", "+1.5.0", "1.5.0+", "1.5.0+CU", "1.5.0rc1", "1.5.-1"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn label_replaces_the_earlier_one() {
        let version: Version = "1.5.0+cu126".parse().unwrap();
        assert_eq!(version.with_label("").unwrap().to_string(), "1.5.0");
        assert_eq!(version.with_label("cu130").unwrap().to_string(), "1.5.0+cu130");
        assert!(version.with_label("Bad-Label").is_err());
    }
}
