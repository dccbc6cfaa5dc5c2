//! Project tasks: `cargo xtask --help`.

mod checks;

use anyhow::Result;
use clap::{Parser, Subcommand};

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

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Test => checks::run(),
    }
}
