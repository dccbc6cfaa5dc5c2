//! What users say about packed weights.

use super::disk::Folder;
use std::ffi::OsString;

/// The option that turns sharing off, a bool.
pub const ENABLED_OPTION: &str = "weight_cache_enabled";
/// The option with the folder in which packed weights are kept, a string.
pub const FOLDER_OPTION: &str = "packed_cache_path";
/// The option that, when set to true, writes what could not be written before: see [`super::save_all`].
pub const SAVE_OPTION: &str = "save_weight_cache_on_disk";
/// The environment variable with the folder where no option names one.
pub const FOLDER_VARIABLE: &str = "EXECUTORCH_XNNPACK_CACHE_DIR";

/// How a load deals with packed weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether they are shared with other graphs, processes and later loads at all.
    pub enabled: bool,
    /// Where they are kept on disk.
    pub folder: Option<Folder>,
}

impl Settings {
    /// Of the options' values where they were given: sharing is on, in memory only. An empty path is none.
    pub fn new(enabled: Option<bool>, folder: Option<&str>) -> Self {
        Self::with_variable(enabled, folder, std::env::var_os(FOLDER_VARIABLE))
    }

    fn with_variable(enabled: Option<bool>, folder: Option<&str>, variable: Option<OsString>) -> Self {
        let folder = folder.map(OsString::from).or(variable).filter(|path| !path.is_empty()).map(Folder::new);
        Self { enabled: enabled.unwrap_or(true), folder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_win_over_the_environment() {
        let settings = |enabled, folder, variable: Option<&str>| {
            let settings = Settings::with_variable(enabled, folder, variable.map(OsString::from));
            (settings.enabled, settings.folder.map(|folder| folder.to_string()))
        };
        assert_eq!(settings(None, None, None), (true, None));
        assert_eq!(settings(Some(false), None, Some("/v")), (false, Some("/v".into())));
        assert_eq!(settings(None, Some("/o"), Some("/v")), (true, Some("/o".into())));
        assert_eq!(
            settings(None, Some(""), Some("/v")),
            (true, None),
            "an option can say that there is none"
        );
        assert_eq!(settings(None, None, Some("")), (true, None));
    }
}
