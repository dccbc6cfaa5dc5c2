//! Tries an installed wheel in a clean machine: `executorch-gate run INPUT --out DIR`.
//!
//! The program is static and needs nothing of the machine but what users need. docs/gate.md lists the checks.

mod arrays;
mod check;
mod checks;
mod clean;
mod context;
mod input;
mod machine;
mod outcome;
mod ptd;
mod runner;
mod schedule;
mod server;
mod table;

use anyhow::Result;
use clap::{Parser, Subcommand};
use executorch_gate_report::Verdict;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Tries an installed wheel in a clean machine")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check; writes report.json and report.txt.
    Run {
        /// The input folder, with gate.toml.
        input: PathBuf,
        /// Folder for the report and the logs.
        #[arg(long)]
        out: PathBuf,
        /// Folder for what is installed and built; a new one that is removed if it is not given.
        #[arg(long)]
        work: Option<PathBuf>,
        /// Run these checks and those that they build on: ids, or `group.*`. For finding faults; promotion wants all.
        #[arg(long)]
        only: Vec<String>,
    },
    /// Run one check in this process; `run` calls it.
    #[command(hide = true)]
    Check {
        /// The check.
        id: String,
        /// What `run` has left for its checks.
        #[arg(long)]
        state: PathBuf,
        /// File for the outcome.
        #[arg(long)]
        outcome: PathBuf,
    },
    /// List the checks as a table in Markdown.
    List,
}

fn main() -> ExitCode {
    match task(Cli::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("gate: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn task(task: Task) -> Result<ExitCode> {
    match task {
        Task::Run { input, out, work, only } => {
            let report = runner::run(&input, &out, work, &only)?;
            print!("{}", table::render(&report));
            return Ok(if report.verdict == Verdict::Pass { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Task::Check { id, state, outcome } => check::run_here(&id, &state, &outcome)?,
        Task::List => print!("{}", table::list(&checks::all())),
    }
    Ok(ExitCode::SUCCESS)
}
