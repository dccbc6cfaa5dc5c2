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

/// The trained model as it is, and what upstream's XNNPACK partitioner made of it in single precision and in 8 bits.
const MODELS: [&str; 3] = ["digits.pte", "digits_xnnpack.pte", "digits_xnnpack_q8.pte"];

/// Runs the demonstration.
pub fn run(place: &Place) -> Result<()> {
    let example = place.root.join("examples/digits");
    let environment = Environment::new::<&str>(place, "clean", &[])?.with_wheel(place, "cpu")?;
    let build = environment.cmake(place, "digits", &example.join("cpp"), &[])?;
    let test_set = example.join("digits_test.bin");
    println!("{:22} {:8} {:>10} {:>12} {:>12}", "", "", "accuracy", "load", "latency");
    for model in MODELS {
        let path = example.join(model);
        let mut python = environment.python();
        python.arg(example.join("run.py")).args([&path, &test_set]);
        let mut cpp = Command::new(build.join("digits"));
        cpp.args([&path, &test_set]).env_remove("LD_LIBRARY_PATH");
        let mut hashes = Vec::new();
        for (language, command) in [("Python", &mut python), ("C++", &mut cpp)] {
            let answers = answers(command)?;
            let value = |key: &str| answers.get(key).map_or("?", String::as_str);
            let (load, latency) = (format!("{} ms", value("load_ms")), format!("{} us", value("latency_us")));
            println!("{model:22} {language:8} {:>10} {load:>12} {latency:>12}", value("accuracy"));
            hashes
                .push(answers.get("predictions").cloned().context("no hash of the predictions was printed")?);
        }
        if hashes.windows(2).any(|pair| pair[0] != pair[1]) {
            bail!("Python and C++ disagree on {model}: predictions {}", hashes.join(" and "));
        }
    }
    println!("Python and C++ give the same answers with every model.");
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
