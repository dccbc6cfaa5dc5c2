//! What does not depend on the image or the job.

use crate::{Acceleration, mirror};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Environment variable: the folder for images, which any number of source trees may share.
const CACHE: &str = "EXECUTORCH_VM_CACHE";
/// Environment variable: the name of an [`Acceleration`].
const ACCELERATION: &str = "EXECUTORCH_VM_ACCEL";

/// Where things are kept, and with what machines are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder for images. It may be deleted whenever no machine runs.
    pub cache: PathBuf,
    /// The address of a Debian mirror; if none, the one that apt uses.
    pub mirror: Option<String>,
    /// The emulator; if none, Debian's, which is installed if it is missing.
    pub emulator: Option<PathBuf>,
    /// The name of the [`Acceleration`]; if none, KVM where a machine really starts with it. Machines cannot be prepared
    /// with another name.
    pub acceleration: Option<String>,
}

impl Settings {
    /// The settings that the environment asks for: `EXECUTORCH_VM_CACHE` instead of `cache`,
    /// `EXECUTORCH_DEBIAN_MIRROR`, and `EXECUTORCH_VM_ACCEL` (`tcg` or `kvm`).
    pub fn from_environment(cache: PathBuf) -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            cache: text(CACHE).map_or(cache, PathBuf::from),
            mirror: text(mirror::MIRROR),
            emulator: None,
            acceleration: text(ACCELERATION),
        }
    }

    /// The acceleration that is asked for.
    pub(crate) fn acceleration(&self) -> Result<Option<Acceleration>> {
        let named = |name: &String| {
            Acceleration::named(name)
                .with_context(|| format!("{ACCELERATION} should be tcg or kvm, not {name:?}"))
        };
        self.acceleration.as_ref().map(named).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Image};

    #[test]
    fn unknown_accelerations_are_refused_before_anything_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let settings = Settings {
            cache: cache.clone(),
            mirror: None,
            emulator: None,
            acceleration: Some("fast".into()),
        };
        let error = "debian-12".parse::<Image>().unwrap().prepare(&settings, &|_| {}).unwrap_err();
        assert!(matches!(error, Error::Prepare { .. }));
        let text = format!("{:#}", anyhow::Error::from(error));
        assert!(text.contains("should be tcg or kvm, not \"fast\""), "{text}");
        assert!(!cache.exists());
    }
}
