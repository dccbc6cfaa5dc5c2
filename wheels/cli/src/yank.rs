//! `wheelhouse yank`: a wheel that installers shall leave alone.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use wheelhouse_release::promote;

use crate::site::{self, Place};

/// Marks a wheel of an index so that installers choose it only where it is pinned; prints the number of the log's
/// entry. The file stays.
#[derive(clap::Args)]
pub struct Arguments {
    /// File name of the wheel.
    wheel: String,
    #[command(flatten)]
    place: Place,
    /// Why, in a line for users.
    #[arg(long)]
    reason: String,
    /// File with the private key of a writer or an owner of the index.
    #[arg(long)]
    key: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (opened, key) = (arguments.place.open()?, site::key(&arguments.key)?);
    let (index, wheel) = (&arguments.place.index, &arguments.wheel);
    let entry = promote::yank(&opened.site(), index, wheel, &arguments.reason, &key, site::now())?;
    eprintln!("{wheel} is yanked in {index}");
    println!("{}", entry.draft.number);
    Ok(ExitCode::SUCCESS)
}
