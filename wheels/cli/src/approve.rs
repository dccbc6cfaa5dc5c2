//! `wheelhouse approve`: an owner's word that a wheel may be promoted.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use wheelhouse_release::promote;

use crate::site::{self, Place};

/// Approves the promotion of a wheel from staging, on the strength of its gate reports; writes the approval's file.
#[derive(clap::Args)]
pub struct Arguments {
    /// File name of the wheel in staging.
    wheel: String,
    #[command(flatten)]
    place: Place,
    /// Folder with the gate's reports (*.json) and their signatures (*.json.sig).
    #[arg(long)]
    reports: PathBuf,
    /// File with the private key of an owner of the index.
    #[arg(long)]
    key: PathBuf,
    /// How many days the approval holds.
    #[arg(long, default_value_t = 7)]
    days: u32,
    /// File for the approval.
    #[arg(long)]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (opened, key) = (arguments.place.open()?, site::key(&arguments.key)?);
    let reports = site::reports(&arguments.reports, &arguments.wheel)?;
    let valid = Duration::from_secs(u64::from(arguments.days) * 86_400);
    let index = &arguments.place.index;
    let (approval, judged) =
        promote::approve(&opened.site(), index, &arguments.wheel, &reports, &key, site::now(), valid)?;
    site::write_new(&arguments.out, &approval)?;
    eprintln!("approved for {index}, {} days: {}", arguments.days, arguments.wheel);
    for gate in &judged.gate {
        eprintln!(
            "  {}: {} checks passed, {} skipped, {} absent",
            gate.image, gate.passed, gate.skipped, gate.absent
        );
    }
    for finding in judged.skipped.iter().chain(&judged.absent) {
        eprintln!("  not tried on {}: {}: {}", finding.image, finding.check, finding.reason);
    }
    println!("{}", arguments.out.display());
    Ok(ExitCode::SUCCESS)
}
