//! `wheelhouse notify`: what users are told.

use std::process::ExitCode;

use anyhow::Result;
use wheelhouse_release::promote;

use crate::site::Place;

/// Prints what happened to an index since an entry of its log, as text for an announcement. The feed (`atom.xml`) and
/// `advisories.json` in the index say the same, and are written again if they do not.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The last entry that was announced.
    #[arg(long, default_value_t = 0)]
    since: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let log = arguments.place.open()?.settle(&arguments.place.index)?;
    for notice in promote::notices(&log)?.iter().filter(|notice| notice.number > arguments.since) {
        println!("{} {} {}\n{}\n", notice.number, notice.time, notice.title, notice.details);
    }
    Ok(ExitCode::SUCCESS)
}
