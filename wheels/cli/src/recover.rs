//! `wheelhouse recover`: an index after an interrupted command.

use std::process::ExitCode;

use anyhow::Result;

use crate::site::Place;

/// Writes what an interrupted command left undone: every file of the index that is not what its log says.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let log = arguments.place.open()?.settle(&arguments.place.index)?;
    println!("{}", log.head());
    Ok(ExitCode::SUCCESS)
}
