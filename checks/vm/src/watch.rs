//! Follows a running machine: what it prints, how far it is, and when its time is over.

use crate::Progress;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a machine's own lines begin with.
const MARK: &str = "executorch-vm: ";
/// The line with which the command starts.
pub const STARTS: &str = "job starts";
const POLL: Duration = Duration::from_millis(50);
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A process that ends when this is dropped.
pub struct Running(Child);

impl Running {
    /// Starts it; what it prints goes to the new file `console`.
    pub fn start(command: &mut Command, console: &Path) -> Result<Self> {
        let file = File::create(console).with_context(|| console.display().to_string())?;
        let command = command.stdin(std::process::Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let context = || format!("cannot start {}", command.get_program().to_string_lossy());
        let context = context();
        Ok(Self(command.spawn().context(context)?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long the parts of a run may take.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Until the command starts.
    pub boot: Duration,
    /// From then to its end.
    pub job: Duration,
    /// To end the command, to take its results, and to switch the machine off.
    pub grace: Duration,
}

/// How a machine ended.
#[derive(Debug)]
pub enum Ending {
    /// It ended by itself.
    Ended(ExitStatus),
    /// It was stopped because the command did not start in time.
    NoStart,
    /// It was stopped because it did not end in time.
    NoEnd,
}

/// What was seen of a machine.
#[derive(Debug)]
pub struct Seen {
    /// How it ended.
    pub ending: Ending,
    /// The last thing that it said that it does.
    pub stage: String,
    /// The time until the command started, if it did.
    pub boot: Option<Duration>,
    /// The time from then to the end.
    pub job: Duration,
}

/// Waits for the end of a machine called `name`, and stops it when a limit is passed.
pub fn follow(
    mut running: Running,
    name: &str,
    console: &Path,
    limits: Limits,
    progress: Progress<'_>,
) -> Result<Seen> {
    let start = Instant::now();
    let mut reader = Console { file: File::open(console)?, rest: Vec::new(), last: String::new() };
    let (mut stage, mut boot) = ("nothing: the machine said nothing".to_owned(), None);
    let mut told = start;
    loop {
        // Asked first, so that what is printed before the end is read.
        let status = running.0.try_wait()?;
        for line in reader.lines()? {
            if let Some(text) = line.strip_prefix(MARK) {
                if text == STARTS && boot.is_none() {
                    boot = Some(start.elapsed());
                }
                text.clone_into(&mut stage);
                progress(&format!("{name}: {:.1} s: {text}", start.elapsed().as_secs_f64()));
            }
        }
        let job = boot.map_or(Duration::ZERO, |boot| start.elapsed() - boot);
        let over = match boot {
            None => (start.elapsed() > limits.boot).then_some(Ending::NoStart),
            Some(_) => (job > limits.job + limits.grace).then_some(Ending::NoEnd),
        };
        if let Some(ending) = status.map(Ending::Ended).or(over) {
            return Ok(Seen { ending, stage, boot, job });
        }
        if told.elapsed() > HEARTBEAT {
            told = Instant::now();
            let (spent, limit) = boot.map_or((start.elapsed(), limits.boot), |_| (job, limits.job));
            let (spent, limit) = (spent.as_secs(), limit.as_secs());
            progress(&format!("{name}: {stage}: {spent} of at most {limit} s; it printed: {}", reader.last));
        }
        sleep(POLL);
    }
}

/// Reads a file that grows.
struct Console {
    file: File,
    rest: Vec<u8>,
    /// The last line that is not the machine's own.
    last: String,
}

impl Console {
    /// The whole lines that were added since the last call.
    fn lines(&mut self) -> Result<Vec<String>> {
        self.file.read_to_end(&mut self.rest)?;
        let mut lines = Vec::new();
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = clean(&String::from_utf8_lossy(&line));
            if !line.is_empty() && !line.starts_with(MARK) {
                line.clone_into(&mut self.last);
            }
            lines.push(line);
        }
        Ok(lines)
    }
}

/// The last lines of what a machine printed.
pub fn tail(console: &Path) -> String {
    const BYTES: u64 = 4096;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(console)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(25);
    lines.iter().skip(from).map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Printable text: firmware and kernels move the cursor.
fn clean(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars().peekable();
    while let Some(letter) = chars.next() {
        if letter == '\u{1b}' {
            // ESC [ … letter, or ESC letter.
            if chars.next_if_eq(&'[').is_some() {
                while chars.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
            }
            chars.next();
        } else if letter == '\t' || !letter.is_control() {
            text.push(letter);
        }
    }
    text.trim_end().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_left_out() {
        assert_eq!(clean("\u{1b}c\u{1b}[?7l\u{1b}[2JSeaBIOS\r"), "SeaBIOS");
        assert_eq!(clean("\u{1b}[0;31mred\u{1b}[0m and\tplain"), "red and\tplain");
        assert_eq!(clean("\u{1b}"), "");
    }

    #[test]
    fn the_tail_is_short() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..10_000).map(|line| format!("line {line}\r\n")).collect();
        std::fs::write(file.path(), text).unwrap();
        let tail = tail(file.path());
        assert_eq!(tail.lines().count(), 25);
        assert!(tail.ends_with("  line 9999"));
    }
}
