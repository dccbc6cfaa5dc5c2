//! How commands are run and shown.

use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::Instant;

/// Runs `work` as a named step: its name and time go to standard error.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    eprintln!("xtask: {name} ...");
    let result = work().with_context(|| format!("step `{name}`"))?;
    eprintln!("xtask: {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(result)
}

/// Runs a command to its end, with its output shown.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if status.success() { Ok(()) } else { bail!("{} failed ({status})", shown(command)) }
}

/// Runs a command and returns its standard output; what it printed is shown only if it fails.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{} failed ({}):\n{stdout}{stderr}", shown(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
