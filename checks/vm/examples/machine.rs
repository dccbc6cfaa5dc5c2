//! Runs a command in a clean machine: `machine IMAGE FILES OUT COMMAND [REPORT]`, where IMAGE may be `here`, FILES is a
//! folder that the command finds in `/job`, OUT is a new folder for what it leaves in `/results`, and REPORT is the file
//! that must be among it (`report.json`). `machine IMAGE` only prepares the image, and tells what it is made of.

use executorch_vm::{Image, Job, Machine, Settings, to_stderr};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("machine: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> anyhow::Result<()> {
    let settings = Settings::from_environment("target/vm".into());
    let machine = match args {
        [name, ..] if name == "here" => Machine::here()?,
        [name, ..] => name.parse::<Image>()?.prepare(&settings, &to_stderr)?,
        [] => anyhow::bail!("usage: machine IMAGE [FILES OUT COMMAND [REPORT]]"),
    };
    match args {
        [_, files, out, command, report @ ..] => {
            let mut job = Job::new(files.into(), command, out.into());
            job.timeout = Duration::from_secs(3600);
            if let [report, ..] = report {
                job.report = report.into();
            }
            let outcome = machine.run(&job, &to_stderr)?;
            println!("{outcome:#?}");
        }
        _ => println!("{:#?}", machine.facts()),
    }
    Ok(())
}
