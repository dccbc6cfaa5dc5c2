//! `wheelhouse audit`: every rule on a finished wheel.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use wheelhouse::audit::{self, Expected, Finding};
use wheelhouse::digest::sha256;
use wheelhouse::row;

use crate::tree::Tree;

/// Audits a wheel against a row, or as a delegate that was built elsewhere. Fails if there are findings.
#[derive(clap::Args)]
pub struct Arguments {
    /// The wheel.
    wheel: PathBuf,
    /// Row in wheels/rows.toml.
    #[arg(long, required_unless_present = "delegate")]
    row: Option<String>,
    /// The wheel is a delegate's, of no row.
    #[arg(long, conflicts_with = "row")]
    delegate: bool,
    /// For people (text) or for tools (json).
    #[arg(long, default_value = "text")]
    format: Format,
    #[command(flatten)]
    tree: Tree,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    wheel: Wheel<'a>,
    /// Null for a delegate of no row.
    row: Option<&'a str>,
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct Wheel<'a> {
    filename: &'a str,
    sha256: String,
    size: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (components, rows) = arguments.tree.declarations()?;
    let row = arguments.row.as_deref().map(|name| row::find(&rows, name)).transpose()?;
    let path = &arguments.wheel;
    let Some(filename) = path.file_name().and_then(|name| name.to_str()) else {
        bail!("{}: expected the path of a wheel", path.display());
    };
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let findings = audit::wheel(filename, &bytes, &Expected { row, components: &components });
    match arguments.format {
        Format::Text => print!("{}", text(filename, &findings)),
        Format::Json => {
            let sha256 = sha256(&bytes);
            let wheel = Wheel { filename, sha256, size: bytes.len() as u64 };
            let row = arguments.row.as_deref();
            let report = Report { schema: "executorch-audit/1", wheel, row, findings: &findings };
            println!("{}", serde_json::to_string_pretty(&report)?);
        }
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(filename: &str, findings: &[Finding]) -> String {
    let mut text = String::new();
    let mut file = "";
    for finding in findings {
        if finding.file != file {
            file = &finding.file;
            text.push_str(&format!("{file}\n"));
        }
        text.push_str(&format!("  {}\n", finding.rule));
        for (key, value) in
            [("found", &finding.found), ("allowed", &finding.allowed), ("mend", &finding.mend)]
        {
            text.push_str(&format!("    {key:8} {value}\n"));
        }
    }
    let verdict = if findings.is_empty() { "passed".into() } else { format!("{} findings", findings.len()) };
    format!("{text}{filename}: {verdict}\n")
}
