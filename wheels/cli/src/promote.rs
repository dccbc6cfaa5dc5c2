//! `wheelhouse promote`: a wheel out of staging into an index.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use wheelhouse_release::promote;

use crate::site::{self, Place};

/// Promotes a wheel from staging to an index, if its gate passed everywhere and the owners approved; prints the number
/// of the log's entry. Repeating it completes an interrupted promotion.
#[derive(clap::Args)]
pub struct Arguments {
    /// File name of the wheel in staging.
    wheel: String,
    #[command(flatten)]
    place: Place,
    /// Folder with the gate's reports (*.json) and their signatures (*.json.sig).
    #[arg(long)]
    reports: PathBuf,
    /// Folder with the owners' approvals (*.json).
    #[arg(long)]
    approvals: PathBuf,
    /// File with the private key of a writer or an owner of the index.
    #[arg(long)]
    key: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (opened, key) = (arguments.place.open()?, site::key(&arguments.key)?);
    let reports = site::reports(&arguments.reports, &arguments.wheel)?;
    let approvals = site::approvals(&arguments.approvals, &arguments.wheel)?;
    let (index, wheel) = (&arguments.place.index, &arguments.wheel);
    let entry = promote::promote(&opened.site(), index, wheel, &reports, &approvals, &key, site::now())?;
    eprintln!("{wheel} is in {index}");
    println!("{}", entry.draft.number);
    Ok(ExitCode::SUCCESS)
}
