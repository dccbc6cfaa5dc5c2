//! A delegate that is linked in, and what the SDK allocates while it runs: nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../runtime/core/tests/common/counting.rs"]
#[allow(dead_code, reason = "made for other tests")]
mod counting;
#[path = "../examples/rust/src/lib.rs"]
mod demo;
#[path = "common/example.rs"]
#[allow(dead_code, reason = "this test needs a part")]
mod example;

use executorch_client::OptionValue;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

#[test]
fn a_run_allocates_nothing() {
    demo::register_delegate().unwrap();
    demo::register_delegate().unwrap();
    assert_eq!(executorch_client::registry::backends(), ["DemoBackend"]);
    let options = example::options(&[("gain", OptionValue::Int(2))]);
    let mut method = example::program().load_method("forward", options).unwrap();
    let inputs = example::inputs();
    example::call(&mut method, &inputs).unwrap();
    let before = counting::calls();
    for _ in 0..100 {
        example::call(&mut method, &inputs).unwrap();
    }
    assert_eq!(counting::calls() - before, 0);
    example::check_output(&mut method, 2.0);
}
