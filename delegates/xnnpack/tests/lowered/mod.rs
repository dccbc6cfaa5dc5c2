//! What is expected of the programs in `checks/conformance/xnnpack`.

use executorch_conformance::{Outcome, folder, run};

/// Programs with nodes that neither executor has: results of 4-bit products in bfloat16.
const LACKING: [&str; 1] = ["xnn_groups_int4_brain, "];

/// Cases whose expected results are upstream's and are neither PyTorch's nor the older library's: upstream's fixture says
/// that it differs from PyTorch in a dynamically quantized convolution of single pixels.
const DIFFERING: [&str; 1] = ["xnn_dynamic_int8, conv_pointwise: output 0: element"];

/// Runs them, or those that `ET_CONFORMANCE` names.
pub fn run_all() -> Outcome {
    run(&folder("xnnpack"), std::env::var("ET_CONFORMANCE").ok().as_deref())
}

/// Fails if a result is wrong that this delegate gives.
pub fn check(outcome: &Outcome) {
    assert!(outcome.ran > 100 || std::env::var_os("ET_CONFORMANCE").is_some());
    // What cannot be run is refused, with the node named.
    let is_refused = |wrong: &&String| {
        LACKING.iter().any(|name| wrong.starts_with(name) && wrong.contains("XNNFullyConnected of"))
    };
    let differs = |wrong: &&String| DIFFERING.iter().any(|name| wrong.starts_with(name));
    let wrong: Vec<&String> =
        outcome.wrong.iter().filter(|wrong| !is_refused(wrong) && !differs(wrong)).collect();
    assert!(wrong.is_empty(), "{} of {} cases are wrong: {wrong:#?}", wrong.len(), outcome.ran);
}
