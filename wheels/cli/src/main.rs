//! `wheelhouse`: packs, audits and publishes wheels. Results go to standard output, everything else to standard error.

mod audit;
mod index;
mod pack;
mod provenance;
mod tree;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Packs, audits and publishes wheels.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One subcommand a file: its arguments and its `run`.
#[derive(Subcommand)]
enum Command {
    Audit(audit::Arguments),
    Index(index::Arguments),
    Pack(pack::Arguments),
    Provenance(provenance::Arguments),
}

fn main() -> ExitCode {
    run(Cli::parse().command).unwrap_or_else(|error| {
        eprintln!("wheelhouse: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Index(arguments) => index::run(&arguments),
        Command::Pack(arguments) => pack::run(&arguments),
        Command::Provenance(arguments) => provenance::run(&arguments),
    }
}
