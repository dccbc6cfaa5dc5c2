//! `cargo xtask demo`: from the sources to a trained model's answers, in Python and in C++.
//!
//! `examples/digits/run.py` and `examples/digits/cpp` (program `digits`) each take the model and the test set and print
//! `key=value` lines: `accuracy`, `predictions` (a hash of all answers), `load_ms` and `latency_us`.

use crate::installed::Environment;
use crate::place::Place;
use anyhow::{Context, Result, bail};
use executorch_tools::command::output;
use std::collections::BTreeMap;
use std::process::Command;

/// Runs the demonstration.
pub fn run(place: &Place) -> Result<()> {
    let example = place.root.join("examples/digits");
    let environment = Environment::new::<&str>(place, "clean", &[])?.with_wheel(place, "cpu")?;
    let build = environment.cmake(place, "digits", &example.join("cpp"), &[])?;
    let files = ["digits.pte", "digits_test.bin"].map(|file| example.join(file));
    let python = answers(environment.python().arg(example.join("run.py")).args(&files))?;
    let cpp = answers(Command::new(build.join("digits")).args(&files).env_remove("LD_LIBRARY_PATH"))?;
    println!("{:10} {:>10} {:>12} {:>12}", "", "accuracy", "load", "latency");
    for (name, answers) in [("Python", &python), ("C++", &cpp)] {
        let value = |key: &str| answers.get(key).map_or("?", String::as_str);
        let (load, latency) = (format!("{} ms", value("load_ms")), format!("{} us", value("latency_us")));
        println!("{name:10} {:>10} {load:>12} {latency:>12}", value("accuracy"));
    }
    let hash = |answers: &BTreeMap<String, String>| {
        answers.get("predictions").cloned().context("no hash of the predictions was printed")
    };
    if hash(&python)? != hash(&cpp)? {
        bail!("Python and C++ disagree: predictions {} and {}", hash(&python)?, hash(&cpp)?);
    }
    println!("Python and C++ give the same answers.");
    println!("Read on: README.md, docs/architecture.md, examples/digits.");
    Ok(())
}

/// The `key=value` lines that a program prints.
fn answers(command: &mut Command) -> Result<BTreeMap<String, String>> {
    let text = output(command)?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect())
}
