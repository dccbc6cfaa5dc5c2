//! Reports and approvals in folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::case::{ApprovalFile, ReportFile};

/// What tells which wheel a file is about.
#[derive(Deserialize)]
struct About {
    wheel: Named,
}

#[derive(Deserialize)]
struct Named {
    filename: String,
}

/// The gate reports in `folder` that are about the wheel `filename`: every `*.json`, with the gate's signature from
/// `*.json.sig` if there is one. Reports about other wheels are passed over; whether these are good is judged later.
pub fn find_reports(folder: &Path, filename: &str) -> Result<Vec<ReportFile>> {
    let mut reports = vec![];
    for (path, json) in about(folder, filename)? {
        let beside = PathBuf::from(format!("{}.sig", path.display()));
        let signature = match fs::read(&beside) {
            Ok(bytes) => Some(bytes.into()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| beside.display().to_string()),
        };
        reports.push(ReportFile { name: path.display().to_string(), json: json.into(), signature });
    }
    Ok(reports)
}

/// The approvals in `folder` that are about the wheel `filename`: every `*.json`.
pub fn find_approvals(folder: &Path, filename: &str) -> Result<Vec<ApprovalFile>> {
    let files = about(folder, filename)?.into_iter();
    Ok(files
        .map(|(path, json)| ApprovalFile { name: path.display().to_string(), json: json.into() })
        .collect())
}

fn about(folder: &Path, filename: &str) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let shown = folder.display();
    let mut paths = vec![];
    for item in fs::read_dir(folder).with_context(|| format!("cannot read the folder {shown}"))? {
        let path = item.with_context(|| format!("cannot read the folder {shown}"))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut found = vec![];
    for path in paths {
        let json = fs::read(&path).with_context(|| path.display().to_string())?;
        let about: About = serde_json::from_slice(&json).with_context(|| {
            format!("{}: says of no wheel what it is about: keep nothing else in this folder", path.display())
        })?;
        if about.wheel.filename == filename {
            found.push((path, json));
        }
    }
    Ok(found)
}
