//! `wheelhouse rollback`: back to the last good set.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use wheelhouse_release::promote;

use crate::site::{self, Place};

/// Restores the set of wheels before the newest promotion, or after an earlier entry of the log; prints the pins that
/// users should use, which `pins.txt` in the index has from then on, too.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Entry of the log after which the index was good.
    #[arg(long)]
    to: Option<u64>,
    /// Why, in a line for users.
    #[arg(long)]
    reason: String,
    /// Bring wheels back that were yanked since; needs an owner's key.
    #[arg(long)]
    restore_yanked: bool,
    /// File with the private key of a writer or an owner of the index.
    #[arg(long)]
    key: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (opened, key) = (arguments.place.open()?, site::key(&arguments.key)?);
    let Arguments { place, to, reason, restore_yanked, .. } = arguments;
    let (_, rollback) =
        promote::rollback(&opened.site(), &place.index, *to, reason, *restore_yanked, &key, site::now())?;
    eprintln!("{} is as it was after entry {}", place.index, rollback.to);
    for name in &rollback.taken_back {
        eprintln!("  taken back: {name}");
    }
    for name in &rollback.restored {
        eprintln!("  back again: {name}");
    }
    for pin in &rollback.pins {
        println!("{pin}");
    }
    Ok(ExitCode::SUCCESS)
}
