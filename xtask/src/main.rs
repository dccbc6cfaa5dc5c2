//! Project tasks: `cargo xtask --help`.

mod checks;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Project tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check and test; the last line is "N passed, N failed".
    Test,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Test => checks::run(),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
