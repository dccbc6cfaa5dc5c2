//! Clean machines to try installed files in: Debian from its packages, booted in an emulator, without a network and
//! without the source tree.
//!
//! ```no_run
//! use executorch_vm::{Image, Job, Settings, to_stderr};
//! # fn main() -> Result<(), executorch_vm::Error> {
//! let settings = Settings::from_environment("target/vm".into());
//! let machine = "debian-12".parse::<Image>()?.prepare(&settings, &to_stderr)?;
//! let job = Job::new("staging".into(), "sh /job/try.sh", "results".into());
//! let outcome = machine.run(&job, &to_stderr)?;
//! println!("{}", outcome.report.display());
//! # Ok(())
//! # }
//! ```
//!
//! Everything here blocks. [`Machine`] can be used from several threads; each run is a machine of its own.

mod acceleration;
mod binfmt;
mod cache;
mod cpio;
mod error;
mod here;
mod image;
mod job;
mod kernel;
mod machine;
mod mirror;
mod qemu;
mod recipe;
mod results;
mod settings;
mod tools;
mod watch;

pub use acceleration::Acceleration;
pub use cache::Facts;
pub use error::{Error, Remains};
pub use image::{Arch, Image};
pub use job::{Job, Outcome};
pub use machine::Machine;
pub use settings::Settings;

/// Takes lines that tell what happens, for people who wait.
pub type Progress<'a> = &'a dyn Fn(&str);

/// A [`Progress`] that writes to standard error.
pub fn to_stderr(line: &str) {
    eprintln!("vm: {line}");
}
