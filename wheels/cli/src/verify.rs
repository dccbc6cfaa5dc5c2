//! `wheelhouse verify`: an index recomputed from its files.

use std::process::ExitCode;

use anyhow::Result;
use wheelhouse_release::log::Head;
use wheelhouse_release::promote;

use crate::site::Place;

/// Checks the log, every signature, report, approval and wheel of an index, and that all its pages follow from them;
/// prints the head of the log, to be remembered for the next time.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// What an earlier verification printed: the log must still hold that entry.
    #[arg(long, value_name = "NUMBER:SHA256")]
    remembered: Option<Head>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (opened, index) = (arguments.place.open()?, &arguments.place.index);
    let verified = promote::verify(&opened.store, &opened.indexes, index, arguments.remembered.as_ref())?;
    for path in &verified.leftovers {
        eprintln!("{path}: nothing names it; an interrupted promotion may have left it");
    }
    eprintln!(
        "{index}: {} entries and {} wheels are right, {} of which users can choose",
        verified.head.number, verified.wheels, verified.live
    );
    println!("{}", verified.head);
    Ok(ExitCode::SUCCESS)
}
