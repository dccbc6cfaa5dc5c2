//! Commands with an environment of their own, an end, and output that is kept.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Folders of programs, as in a fresh login.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command that inherits nothing: no loader overrides, no search paths, no settings of pip, Python, CMake or compilers.
pub fn command(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end; a failure shows all that it printed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = run(command)?;
    if !output.status.success() {
        bail!("{} failed ({}):\n{}", shown(command), output.status, both(&output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end, whatever that is.
pub fn run(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("cannot start {}", shown(command)))
}

/// Runs a command that must fail; returns all that it printed. One that is ended by a signal does not count.
pub fn refusal(command: &mut Command) -> Result<String> {
    let output = run(command)?;
    match output.status.code() {
        Some(0) => bail!("{} succeeded and should have failed:\n{}", shown(command), both(&output)),
        None => bail!("{} crashed ({}):\n{}", shown(command), output.status, both(&output)),
        Some(_) => Ok(both(&output)),
    }
}

/// Standard output and error together.
pub fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The command line, for messages.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// How a watched process ended.
#[derive(Debug)]
pub enum Ending {
    /// By itself.
    Ended(ExitStatus),
    /// It and its children were killed.
    TooLong,
}

/// Runs a command as the leader of a process group that does not outlive it, with its output in `log`.
pub fn watched(command: &mut Command, limit: Duration, log: &Path) -> Result<Ending> {
    let file = File::create(log).with_context(|| log.display().to_string())?;
    command.stdout(file.try_clone()?).stderr(file).process_group(0);
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process without an id")?;
    let mut pause = Duration::from_millis(1);
    let ending = loop {
        if let Some(status) = child.try_wait()? {
            break Ending::Ended(status);
        }
        if started.elapsed() > limit {
            break Ending::TooLong;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    };
    // Whatever it left behind goes too; that nothing is left is the usual case.
    let _nothing_left = kill_process_group(group, Signal::KILL);
    if matches!(ending, Ending::TooLong) {
        child.wait()?;
    }
    Ok(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = command("sh", Path::new("/tmp"));
        command.args(["-c", script]);
        command
    }

    #[test]
    fn nothing_is_inherited() {
        let text = output(&mut shell("env")).unwrap();
        let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"PATH") && !text.contains("CARGO") && !names.contains(&"LD_LIBRARY_PATH"));
    }

    #[test]
    fn endings_are_told_apart() {
        assert!(output(&mut shell("echo no >&2; exit 3")).unwrap_err().to_string().contains("no"));
        assert_eq!(refusal(&mut shell("echo no >&2; exit 3")).unwrap(), "no\n");
        assert!(refusal(&mut shell("true")).unwrap_err().to_string().contains("should have failed"));
        assert!(refusal(&mut shell("kill -SEGV $$")).unwrap_err().to_string().contains("crashed"));
    }

    /// Waits until a killed process is gone, or dead and not yet collected by whoever adopted it: the signal is
    /// delivered at once, the death takes the scheduler's time.
    fn ends(pid: &str) -> bool {
        let stat = format!("/proc/{}/stat", pid.trim());
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            match std::fs::read_to_string(&stat) {
                Ok(state) if !state.contains(") Z ") => std::thread::sleep(Duration::from_millis(5)),
                _ => return true,
            }
        }
        false
    }

    #[test]
    fn what_hangs_is_ended_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let script = "sleep 600 & echo $!; wait";
        let ending = watched(&mut shell(script), Duration::from_millis(300), &log).unwrap();
        assert!(matches!(ending, Ending::TooLong));
        assert!(ends(&std::fs::read_to_string(&log).unwrap()));
    }

    #[test]
    fn what_is_left_behind_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let ending = watched(&mut shell("sleep 600 & echo $!"), Duration::from_secs(60), &log).unwrap();
        assert!(matches!(ending, Ending::Ended(status) if status.success()));
        assert!(ends(&std::fs::read_to_string(&log).unwrap()));
    }
}
