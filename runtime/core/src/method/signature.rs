//! Checks a call's arguments against the signature that a kernel was registered with.

use crate::ir::Value;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use std::ffi::CStr;

/// The kinds of a kernel's arguments (see `et_kernel_t::signature`).
#[derive(Debug, Clone, Copy)]
pub struct Signature<'a> {
    inputs: &'a [u8],
    outputs: &'a [u8],
}

impl<'a> Signature<'a> {
    /// Reads a signature.
    pub fn parse(text: &'a CStr) -> Result<Self> {
        let bytes = text.to_bytes();
        let at = bytes.iter().position(|&b| b == b'>');
        let (inputs, outputs) = at
            .and_then(|at| Some((bytes.get(..at)?, bytes.get(at + 1..)?)))
            .filter(|(i, o)| i.iter().chain(*o).all(|k| kind(*k).is_some()))
            .ok_or_else(|| {
                Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the kernel's signature {text:?} is malformed"))
            })?;
        Ok(Self { inputs, outputs })
    }

    /// The number of inputs, which come before the outputs.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// The number of outputs, not counting the slots for return values.
    pub fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// Checks the values that a call names.
    pub fn check(&self, args: &[u32], values: &[Value]) -> Result<()> {
        let expected = self.inputs.len() + self.outputs.len();
        if args.len() < expected {
            return Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("the call has {} arguments, expected at least {expected}", args.len()),
            ));
        }
        for (i, (&letter, &arg)) in self.inputs.iter().chain(self.outputs).zip(args).enumerate() {
            let Some(value) = values.get(arg as usize) else { continue };
            if !kind(letter).is_some_and(|k| k.accepts(value) || (k.optional && matches!(value, Value::None)))
            {
                return Err(Error::new(
                    ET_ERROR_INVALID_PROGRAM,
                    format!("argument {i} should be {}, found {}", name(letter), found(value)),
                ));
            }
        }
        Ok(())
    }
}

struct Kind {
    letter: u8,
    optional: bool,
}

fn kind(letter: u8) -> Option<Kind> {
    let upper = letter.to_ascii_uppercase();
    b"TSIDBNLFOXY".contains(&upper).then_some(Kind { letter: upper, optional: letter != upper })
}

impl Kind {
    fn accepts(&self, value: &Value) -> bool {
        match self.letter {
            b'T' => matches!(value, Value::Tensor(_)),
            b'S' => matches!(value, Value::Int(_) | Value::Double(_) | Value::Bool(_)),
            b'I' => matches!(value, Value::Int(_)),
            b'D' => matches!(value, Value::Double(_) | Value::Int(_)),
            b'B' => matches!(value, Value::Bool(_)),
            b'N' => matches!(value, Value::String(_)),
            b'L' => matches!(value, Value::IntList(_)),
            b'F' => matches!(value, Value::DoubleList(_)),
            b'O' => matches!(value, Value::BoolList(_)),
            b'X' => matches!(value, Value::TensorList(_)),
            b'Y' => matches!(value, Value::OptionalTensorList(_) | Value::TensorList(_)),
            _ => false,
        }
    }
}

fn name(letter: u8) -> &'static str {
    match letter.to_ascii_uppercase() {
        b'T' => "a tensor",
        b'S' => "a number",
        b'I' => "an int",
        b'D' => "a float",
        b'B' => "a bool",
        b'N' => "a string",
        b'L' => "a list of ints",
        b'F' => "a list of floats",
        b'O' => "a list of bools",
        b'X' => "a list of tensors",
        _ => "a list of optional tensors",
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::None => "none",
        Value::Int(_) => "an int",
        Value::Bool(_) => "a bool",
        Value::Double(_) => "a float",
        Value::String(_) => "a string",
        Value::IntList(_) => "a list of ints",
        Value::DoubleList(_) => "a list of floats",
        Value::BoolList(_) => "a list of bools",
        Value::TensorList(_) => "a list of tensors",
        Value::OptionalTensorList(_) => "a list of optional tensors",
        Value::Tensor(_) => "a tensor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_checked() {
        let values = [Value::None, Value::Int(1), Value::Double(1.0), Value::IntList(vec![])];
        let signature = Signature::parse(c"tSD>L").unwrap();
        assert!(signature.check(&[0, 1, 2, 3], &values).is_ok());
        assert!(signature.check(&[0, 2, 1, 3], &values).is_ok());
        assert!(signature.check(&[1, 1, 2, 3], &values).is_err());
        assert!(signature.check(&[0, 1, 2, 1], &values).is_err());
        assert!(signature.check(&[0, 1, 2], &values).is_err());
        assert!(Signature::parse(c"T?>T").is_err());
        assert!(Signature::parse(c"TT").is_err());
    }
}
