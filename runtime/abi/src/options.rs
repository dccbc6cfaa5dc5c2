//! Options of backends, out of Rust's strings.

use crate::backend::*;
use crate::error::ET_ERROR_INVALID_ARGUMENT;
use crate::{Error, Result};
use std::ffi::c_char;

impl et_backend_option_t {
    /// An option: `number` holds a boolean or integer, `text` a string. Fails if the key or the text holds a NUL character
    /// or is too long.
    pub fn new(key: &str, kind: et_option_kind_t, number: i32, text: &str) -> Result<Self> {
        let mut option =
            Self { key: [0; ET_OPTION_KEY_SIZE], kind, number, string: [0; ET_OPTION_STRING_SIZE] };
        write(&mut option.key, key, "the option's key")?;
        write(&mut option.string, text, &format!("the option {key:?}"))?;
        Ok(option)
    }
}

/// Copies a text to a field that must hold its NUL too.
fn write(to: &mut [c_char], from: &str, what: &str) -> Result<()> {
    let bad = |message: String| Err(Error::new(ET_ERROR_INVALID_ARGUMENT, message));
    if from.contains('\0') {
        return bad(format!("{what} {from:?} contains a NUL character"));
    }
    if from.len() >= to.len() {
        return bad(format!("{what} has {} bytes, at most {} are possible", from.len(), to.len() - 1));
    }
    to.iter_mut().zip(from.bytes()).for_each(|(to, from)| *to = from as c_char);
    Ok(())
}
