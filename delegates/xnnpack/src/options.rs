//! Options: of the process, of its environment, and of one load.

use crate::cache::{self, ENABLED_OPTION, FOLDER_OPTION, SAVE_OPTION};
use crate::library::Sharing;
use crate::plan::choice::Mode;
use executorch_abi::{Error, Result, error::ET_ERROR_NOT_FOUND};
use executorch_delegate::{OptionValue, Options};
use std::borrow::Cow;

/// The option that says who shares scratch memory of the library, an int: upstream's 0, 1 or 2.
pub const SHARING_OPTION: &str = "workspace_sharing_mode";
/// The option that says which executor runs a node, a string.
pub const EXECUTOR_OPTION: &str = "executor";
/// The environment variable that says so where no option does.
pub const EXECUTOR_VARIABLE: &str = "EXECUTORCH_XNNPACK_EXECUTOR";

/// What was said by options, and what was not. Keys that are none of ours are ignored, as upstream does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    sharing: Option<Sharing>,
    shares_weights: Option<bool>,
    folder: Option<String>,
    mode: Option<Mode>,
}

impl Settings {
    /// These settings, changed by options. A value of a wrong kind or out of range is `InvalidArgument`.
    pub fn with(&self, options: Options<'_>) -> Result<Self> {
        let mut changed = self.clone();
        if let Some(number) = options.int(SHARING_OPTION)? {
            let expected = "0 (disabled), 1 (per model) or 2 (global)";
            let sharing = Sharing::from_number(number)
                .ok_or_else(|| OptionValue::Int(number).is_not(SHARING_OPTION, expected))?;
            changed.sharing = Some(sharing);
        }
        if let Some(value) = options.bool(ENABLED_OPTION)? {
            changed.shares_weights = Some(value);
        }
        if let Some(path) = options.string(FOLDER_OPTION)? {
            changed.folder = Some(path.into_owned());
        }
        if let Some(name) = options.string(EXECUTOR_OPTION)? {
            let mode = Mode::from_name(&name).ok_or_else(|| {
                let names = Mode::ALL.map(Mode::name).join(", ");
                OptionValue::String(name).is_not(EXECUTOR_OPTION, &format!("one of {names}"))
            })?;
            changed.mode = Some(mode);
        }
        Ok(changed)
    }

    /// Who shares scratch memory of the library, and waits for each other.
    pub fn sharing(&self) -> Sharing {
        self.sharing.unwrap_or_default()
    }

    /// Which executor runs a node. What the environment says wrongly is ignored: no caller could help it.
    pub fn mode(&self) -> Mode {
        let variable = || std::env::var(EXECUTOR_VARIABLE).ok().and_then(|name| Mode::from_name(&name));
        self.mode.or_else(variable).unwrap_or_default()
    }

    /// How packed weights are dealt with.
    pub fn weights(&self) -> cache::Settings {
        cache::Settings::new(self.shares_weights, self.folder.as_deref())
    }

    /// The value of an option.
    pub fn get(&self, key: &str) -> Result<OptionValue<'static>> {
        let weights = self.weights();
        Ok(match key {
            SHARING_OPTION => OptionValue::Int(self.sharing().number()),
            EXECUTOR_OPTION => OptionValue::String(Cow::Borrowed(self.mode().name())),
            ENABLED_OPTION => OptionValue::Bool(weights.enabled),
            FOLDER_OPTION => {
                let folder = weights.folder.map(|folder| folder.to_string()).unwrap_or_default();
                OptionValue::String(Cow::Owned(folder))
            }
            // An action, which is over when it has been set.
            SAVE_OPTION => OptionValue::Bool(false),
            _ => {
                let known =
                    [SHARING_OPTION, EXECUTOR_OPTION, ENABLED_OPTION, FOLDER_OPTION, SAVE_OPTION].join(", ");
                let text = format!("there is no option {key:?}; the options are {known}");
                return Err(Error::new(ET_ERROR_NOT_FOUND, text));
            }
        })
    }
}
