//! `wheelhouse`: packs, audits and publishes wheels. Results go to standard output, everything else to standard error.

mod approve;
mod audit;
mod index;
mod keygen;
mod notify;
mod pack;
mod promote;
mod provenance;
mod recover;
mod rollback;
mod sign;
mod site;
mod tree;
mod verify;
mod yank;

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
    Approve(approve::Arguments),
    Audit(audit::Arguments),
    Index(index::Arguments),
    Keygen(keygen::Arguments),
    Notify(notify::Arguments),
    Pack(pack::Arguments),
    Promote(promote::Arguments),
    Provenance(provenance::Arguments),
    Recover(recover::Arguments),
    Rollback(rollback::Arguments),
    Sign(sign::Arguments),
    Verify(verify::Arguments),
    Yank(yank::Arguments),
}

fn main() -> ExitCode {
    run(Cli::parse().command).unwrap_or_else(|error| {
        eprintln!("wheelhouse: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Approve(arguments) => approve::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Index(arguments) => index::run(&arguments),
        Command::Keygen(arguments) => keygen::run(&arguments),
        Command::Notify(arguments) => notify::run(&arguments),
        Command::Pack(arguments) => pack::run(&arguments),
        Command::Promote(arguments) => promote::run(&arguments),
        Command::Provenance(arguments) => provenance::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Rollback(arguments) => rollback::run(&arguments),
        Command::Sign(arguments) => sign::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Yank(arguments) => yank::run(&arguments),
    }
}
