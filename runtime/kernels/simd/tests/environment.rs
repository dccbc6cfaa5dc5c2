//! `ET_CPU_ISA` is read once per process, so that each case runs in a process of its own.

use std::process::Command;

use executorch_simd::{Isa, isa};

/// Prints the level in use, for the test below.
#[test]
#[ignore = "run by the other test with an environment of its own"]
fn child() {
    println!("level={}", isa().name());
}

fn level_with(value: &str) -> String {
    let this = std::env::current_exe().expect("the test program has a path");
    let output = Command::new(this)
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("ET_CPU_ISA", value)
        .output()
        .expect("the test program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("level=").expect("the child prints its level");
    rest.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_environment_chooses_among_supported_levels() {
    let best = Isa::supported().last().expect("the baseline is always supported");
    for level in Isa::ALL {
        let expected = if level.is_supported() { level } else { best };
        assert_eq!(level_with(level.name()), expected.name());
    }
    assert_eq!(level_with("abacus"), best.name());
}
