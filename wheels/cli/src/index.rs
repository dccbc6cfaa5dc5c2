//! `wheelhouse index`: the wheels of an index and the files that installers and people read.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use wheelhouse_release::index::{Index, Rendered, Wheel, now};
use wheelhouse_release::store::Store;

/// The index whose wheels come and go without a promotion.
const STAGING: &str = "staging";

/// Adds and removes wheels of the staging index; renders, checks and tidies any.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Put wheels into staging; other indexes get them from `wheelhouse promote`.
    Add {
        #[command(flatten)]
        place: Place,
        /// Row of wheels/rows.toml that the wheels were made for.
        #[arg(long)]
        row: String,
        /// Where users find the folder of the index, for its install lines: https://…/staging/.
        #[arg(long)]
        url: Option<String>,
        /// Provenance statement of the wheel; with one wheel only.
        #[arg(long)]
        provenance: Option<PathBuf>,
        /// The wheels.
        #[arg(required = true)]
        wheels: Vec<PathBuf>,
    },
    /// Take wheels out of staging; their files stay until `prune`.
    Remove {
        #[command(flatten)]
        place: Place,
        /// Why, for the page.
        #[arg(long, default_value = "")]
        reason: String,
        /// File names.
        #[arg(required = true)]
        wheels: Vec<String>,
    },
    /// Write every page that is not what entries.json says.
    Render {
        #[command(flatten)]
        place: Place,
        /// Where people find the folder of staging: https://…/staging/. Other indexes have theirs in indexes.toml.
        #[arg(long)]
        url: Option<String>,
    },
    /// Compare every wheel, metadata file and page with entries.json.
    Check {
        #[command(flatten)]
        place: Place,
    },
    /// Delete files that no entry names.
    Prune {
        #[command(flatten)]
        place: Place,
        /// Only files that are at least this old: a writer may be about to name younger ones.
        #[arg(long, default_value_t = 24)]
        hours: u64,
    },
}

#[derive(clap::Args)]
struct Place {
    /// Folder or bucket with the indexes: a path, file:///folder or s3://bucket/prefix.
    #[arg(long)]
    store: String,
    /// Name of the index.
    #[arg(long, default_value = STAGING)]
    index: String,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Add { place, row, url, provenance, wheels } => {
            only_staging(place, "`wheelhouse promote` adds wheels to it")?;
            add(place, row, url.as_deref(), provenance.as_ref(), wheels)?;
        }
        Command::Remove { place, reason, wheels } => {
            only_staging(place, "`wheelhouse yank` and `wheelhouse rollback` take wheels back")?;
            let (store, time) = (Store::open(&place.store)?, now());
            let removed = Index::new(&store, &place.index)?.change(|catalogue| {
                wheels.iter().try_for_each(|wheel| catalogue.remove(wheel, &time, reason))
            })?;
            report(&removed);
        }
        Command::Render { place, url } => {
            if url.is_some() {
                only_staging(
                    place,
                    "its address is `url` in indexes.toml, and `wheelhouse recover` writes it",
                )?;
            }
            let store = Store::open(&place.store)?;
            let index = Index::new(&store, &place.index)?;
            let rendered = match url {
                None => index.render()?,
                Some(url) => index.change(|catalogue| {
                    catalogue.url = Some(url.clone());
                    Ok(())
                })?,
            };
            report(&rendered);
        }
        Command::Check { place } => return check(place),
        Command::Prune { place, hours } => {
            let store = Store::open(&place.store)?;
            let age = Duration::from_secs(hours.saturating_mul(3600));
            for name in Index::new(&store, &place.index)?.prune(age)? {
                println!("{name}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn only_staging(place: &Place, other: &str) -> Result<()> {
    ensure!(place.index == STAGING, "`{}` is not `{STAGING}`: {other}", place.index);
    Ok(())
}

fn add(
    place: &Place,
    row: &str,
    url: Option<&str>,
    provenance: Option<&PathBuf>,
    paths: &[PathBuf],
) -> Result<()> {
    ensure!(
        provenance.is_none() || paths.len() == 1,
        "--provenance belongs to one wheel; add the others by themselves"
    );
    let statement = match provenance {
        None => None,
        Some(path) => Some((file_name(path)?, read(path)?)),
    };
    let wheels: Vec<Wheel> =
        paths.iter().map(|path| Wheel::read(file_name(path)?, read(path)?)).collect::<Result<_>>()?;
    let store = Store::open(&place.store)?;
    let index = Index::new(&store, &place.index)?;
    for wheel in &wheels {
        index.put_files(wheel, statement.as_ref().map(|(name, bytes)| (*name, &bytes[..])))?;
    }
    let time = now();
    let rendered = index.change(|catalogue| {
        if let Some(url) = url {
            catalogue.url = Some(url.to_owned());
        }
        wheels.iter().try_for_each(|wheel| {
            let mut entry = wheel.entry(row, &time, Vec::new());
            entry.provenance = statement.as_ref().map(|(name, _)| (*name).to_owned());
            catalogue.insert(entry)
        })
    })?;
    report(&rendered);
    Ok(())
}

fn check(place: &Place) -> Result<ExitCode> {
    let store = Store::open(&place.store)?;
    let findings = Index::new(&store, &place.index)?.check()?;
    for leftover in &findings.leftovers {
        eprintln!("wheelhouse: {leftover}: no entry names it; `wheelhouse index prune` deletes it");
    }
    for fault in &findings.faults {
        println!("{fault}");
    }
    Ok(if findings.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Pages go to standard output, the sum to standard error.
fn report(rendered: &Rendered) {
    for page in &rendered.written {
        println!("{page}");
    }
    eprintln!("wheelhouse: {} pages written, {} unchanged", rendered.written.len(), rendered.unchanged);
}

fn file_name(path: &std::path::Path) -> Result<&str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.with_context(|| format!("{} has no plain file name", path.display()))
}

fn read(path: &std::path::Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}
