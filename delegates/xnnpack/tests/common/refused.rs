//! Payloads with one mistake, and what is said of it.

use super::made::*;
use super::read;
use executorch_abi::Error;
use executorch_abi::error::ET_ERROR_INVALID_PROGRAM;

pub const HUGE: u32 = u32::MAX - 1;

/// The error of a payload, which says all of `parts`.
#[track_caller]
pub fn refused(made: Made, parts: &[&str]) -> Error {
    refused_bytes(&made, &made.bytes(), parts)
}

#[track_caller]
pub fn refused_bytes(made: &Made, bytes: &[u8], parts: &[&str]) -> Error {
    let error = match read(bytes, &made.named()) {
        Ok(graph) => panic!("it was read: {graph:?}"),
        Err(error) => error,
    };
    for part in parts {
        assert!(error.message.contains(part), "{error} does not say {part:?}");
    }
    error
}

/// The same, for a graph that cannot be.
#[track_caller]
pub fn invalid(made: Made, parts: &[&str]) {
    let error = refused(made, parts);
    assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM, "{error}");
    assert!(error.message.contains("export it again"), "{error}");
}

/// A payload with one thing changed.
pub fn with(mut made: Made, change: impl FnOnce(&mut Made)) -> Made {
    change(&mut made);
    made
}

pub fn linear(change: impl FnOnce(&mut Made)) -> Made {
    with(catalog::linear(), change)
}

/// The graph of a kind with one thing changed.
pub fn kind(kind: Kind, change: impl FnOnce(&mut Made)) -> Made {
    let found = catalog::kinds().into_iter().find(|(other, _)| *other == kind);
    with(found.unwrap().1, change)
}
