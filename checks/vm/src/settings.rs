//! What does not depend on the image or the job.

use crate::{Acceleration, mirror};
use std::path::PathBuf;

/// Environment variable: the folder for images, which any number of source trees may share.
const CACHE: &str = "EXECUTORCH_VM_CACHE";
/// Environment variable: `tcg` or `kvm`.
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
    /// How programs of the machine's processor are run; if none, as fast as works here.
    pub acceleration: Option<Acceleration>,
}

impl Settings {
    /// The settings that the environment asks for: `EXECUTORCH_VM_CACHE` instead of `cache`,
    /// `EXECUTORCH_DEBIAN_MIRROR`, and `EXECUTORCH_VM_ACCEL` (`tcg` or `kvm`; other values are as if it were not set).
    pub fn from_environment(cache: PathBuf) -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            cache: text(CACHE).map_or(cache, PathBuf::from),
            mirror: text(mirror::MIRROR),
            emulator: None,
            acceleration: text(ACCELERATION).and_then(|name| Acceleration::named(&name)),
        }
    }
}
