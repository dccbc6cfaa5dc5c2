//! Options: of the process, and of one load.

use crate::{Error, Result};
use executorch_abi::backend::*;
use executorch_abi::error::*;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue<'a> {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i32),
    /// A text, at most 255 bytes.
    String(Cow<'a, str>),
}

/// Options that somebody set, each with a key. Where a key is given twice, the last one counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    options: &'a [et_backend_option_t],
}

impl<'a> Options<'a> {
    /// Wraps options whose keys and texts are NUL-terminated UTF-8 and whose kinds are known, or says which is not.
    pub(crate) fn new(options: &'a [et_backend_option_t]) -> Result<Self> {
        for (index, option) in options.iter().enumerate() {
            let bad =
                |what: String| Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("option {index}{what}")));
            let Some(key) = text(&option.key) else { return bad(" has a key that is no UTF-8 text".into()) };
            match option.kind {
                ET_OPTION_BOOL | ET_OPTION_INT => {}
                ET_OPTION_STRING if text(&option.string).is_some() => {}
                ET_OPTION_STRING => return bad(format!(", {key:?}, is no UTF-8 text")),
                kind => return bad(format!(", {key:?}, is of the unknown kind {kind}")),
            }
        }
        Ok(Self { options })
    }

    /// The keys and values, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, OptionValue<'a>)> + use<'a> {
        self.options.iter().filter_map(|option| Some((text(&option.key)?, value(option)?)))
    }

    /// The value of a key, if it was given.
    pub fn get(&self, key: &str) -> Option<OptionValue<'a>> {
        self.iter().filter(|(k, _)| *k == key).last().map(|(_, value)| value)
    }

    /// A boolean, if it was given; anything else under the key is an error.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(OptionValue::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(other.is_not(key, "a bool")),
        }
    }

    /// An integer, if it was given; anything else under the key is an error.
    pub fn int(&self, key: &str) -> Result<Option<i32>> {
        match self.get(key) {
            None => Ok(None),
            Some(OptionValue::Int(value)) => Ok(Some(value)),
            Some(other) => Err(other.is_not(key, "an int")),
        }
    }

    /// A text, if it was given; anything else under the key is an error.
    pub fn string(&self, key: &str) -> Result<Option<Cow<'a, str>>> {
        match self.get(key) {
            None => Ok(None),
            Some(OptionValue::String(value)) => Ok(Some(value)),
            Some(other) => Err(other.is_not(key, "a string")),
        }
    }

    /// Fails if an option is none of `known`, naming it and them.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        match self.iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, _)) => Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("there is no option {key:?}; the options are {}", known.join(", ")),
            )),
        }
    }
}

impl OptionValue<'_> {
    /// The error of a value that its reader cannot use: `expected` says what would do.
    pub fn is_not(&self, key: &str, expected: &str) -> Error {
        Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("the option {key:?} should be {expected}, found {self}"),
        )
    }

    /// Writes the value to an option, whose key stays.
    pub(crate) fn write(&self, option: &mut et_backend_option_t) -> Result<()> {
        match self {
            Self::Bool(value) => (option.kind, option.number) = (ET_OPTION_BOOL, i32::from(*value)),
            Self::Int(value) => (option.kind, option.number) = (ET_OPTION_INT, *value),
            Self::String(value) => {
                if value.len() >= ET_OPTION_STRING_SIZE || value.contains('\0') {
                    let text = format!("{value:?} has no room in an option of {ET_OPTION_STRING_SIZE} bytes");
                    return Err(Error::new(ET_ERROR_INTERNAL, text));
                }
                (option.kind, option.string) = (ET_OPTION_STRING, [0; ET_OPTION_STRING_SIZE]);
                option.string.iter_mut().zip(value.bytes()).for_each(|(to, from)| *to = from as c_char);
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for OptionValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "the bool {value}"),
            Self::Int(value) => write!(f, "the int {value}"),
            Self::String(value) => write!(f, "the string {value:?}"),
        }
    }
}

fn value(option: &et_backend_option_t) -> Option<OptionValue<'_>> {
    match option.kind {
        ET_OPTION_BOOL => Some(OptionValue::Bool(option.number != 0)),
        ET_OPTION_INT => Some(OptionValue::Int(option.number)),
        _ => text(&option.string).map(|text| OptionValue::String(Cow::Borrowed(text))),
    }
}

/// The NUL-terminated text at the start of `chars`.
pub(crate) fn text(chars: &[c_char]) -> Option<&str> {
    // SAFETY: `c_char` is a byte, and the slice's life is the result's.
    let bytes = unsafe { std::slice::from_raw_parts(chars.as_ptr().cast::<u8>(), chars.len()) };
    CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()
}
