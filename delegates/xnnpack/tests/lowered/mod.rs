//! The programs in `checks/conformance/xnnpack`.

use executorch_conformance::{Outcome, folder, run};

/// Runs them, or those that `ET_CONFORMANCE` names.
pub fn run_all() -> Outcome {
    run(&folder("xnnpack"), std::env::var("ET_CONFORMANCE").ok().as_deref())
}

/// Fails if a result is wrong.
pub fn check(outcome: &Outcome) {
    assert!(outcome.ran > 100 || std::env::var_os("ET_CONFORMANCE").is_some());
    let wrong = &outcome.wrong;
    assert!(wrong.is_empty(), "{} of {} cases are wrong: {wrong:#?}", wrong.len(), outcome.ran);
}
