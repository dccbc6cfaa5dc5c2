//! Programs on the fake device, against PyTorch's results, and what is left when they are gone.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::cases::cases;
use common::{Program, fakes};
use std::collections::HashMap;

/// Runs the cases of a program, on one method for each name.
fn check(name: &str, skipped: &str) {
    let fakes = fakes();
    let before = fakes.live();
    {
        let program = Program::open(name);
        let mut methods = HashMap::new();
        for case in cases(name).iter().filter(|case| case.method != skipped) {
            let method =
                methods.entry(case.method.clone()).or_insert_with(|| program.method(&case.method).unwrap());
            case.check(&method.run(&case.inputs).unwrap());
        }
        assert!(!methods.is_empty());
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn constants_of_a_list_are_bound() {
    check("cuda_layer", "host");
}

#[test]
fn shapes_may_change() {
    check("cuda_rows", "");
}
