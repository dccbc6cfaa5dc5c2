//! `wheelhouse keygen`: a key pair.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use wheelhouse_release::sign::PrivateKey;

/// Makes a key; keeps the private half in a file for its owner alone, and prints the public half for indexes.toml.
#[derive(clap::Args)]
pub struct Arguments {
    /// File for the private key; an existing one is never replaced.
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let key = PrivateKey::generate()?;
    key.save(&arguments.out)?;
    println!("{}", key.public());
    Ok(ExitCode::SUCCESS)
}
