//! `wheelhouse sign`: a gate's signature over its reports.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use wheelhouse_release::promote::REPORT_TYPE;
use wheelhouse_release::sign::Signature;

use crate::site;

/// Signs gate reports, on the machine that ran the gate; writes REPORT.sig beside each.
#[derive(clap::Args)]
pub struct Arguments {
    /// The reports.
    #[arg(required = true)]
    reports: Vec<PathBuf>,
    /// File with the gate's private key.
    #[arg(long)]
    key: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let key = site::key(&arguments.key)?;
    for report in &arguments.reports {
        let json = fs::read(report).with_context(|| report.display().to_string())?;
        let path = format!("{}.sig", report.display());
        let signature = Signature::new(&key, REPORT_TYPE, &json).to_json();
        fs::write(&path, signature).with_context(|| path.clone())?;
        println!("{path}");
    }
    Ok(ExitCode::SUCCESS)
}
