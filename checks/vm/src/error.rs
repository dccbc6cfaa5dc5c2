//! What can go wrong, and what to do about it.

use crate::Image;
use std::fmt;
use std::path::PathBuf;

/// An error. Its text says what was expected, what was found, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is not that of an image.
    #[error("there is no image `{0}`; there are {names}", names = names())]
    NoSuchImage(String),
    /// The image could not be made.
    #[error("cannot prepare {image}")]
    Prepare {
        /// The image's name.
        image: String,
        /// Why.
        #[source]
        source: anyhow::Error,
    },
    /// The job could not be handed over, or its results could not be taken over.
    #[error("cannot run the job on {machine}")]
    Run {
        /// The machine's name.
        machine: String,
        /// Why.
        #[source]
        source: anyhow::Error,
    },
    /// The job left no report, so that it has no verdict, whatever its exit status was.
    #[error("no report: {reason}; {0}", reason = .0.reason)]
    NoReport(Box<Remains>),
    /// The time ran out. What the job had left among its results is kept, if the machine could still write it.
    #[error("the time is over: {reason}; {0}", reason = .0.reason)]
    TimedOut(Box<Remains>),
}

/// What is left of a run that has no verdict.
#[derive(Clone, Debug)]
pub struct Remains {
    /// The machine's name.
    pub machine: String,
    /// What was seen.
    pub reason: String,
    /// The last thing that the machine said that it does.
    pub stage: String,
    /// The file with all that the machine printed.
    pub console: PathBuf,
    /// Its last lines.
    pub tail: String,
    /// The folder for results.
    pub results: PathBuf,
}

impl fmt::Display for Remains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (machine, stage, console) = (&self.machine, &self.stage, self.console.display());
        write!(f, "{machine} came as far as `{stage}`; the end of {console}:\n{}", self.tail)
    }
}

fn names() -> String {
    Image::all().map(|image| image.name()).collect::<Vec<_>>().join(", ")
}
