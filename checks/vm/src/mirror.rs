//! Where Debian's packages come from, and the state that a suite has there.

use anyhow::{Context, Result, bail};
use executorch_tools::command::output;
use executorch_tools::digest;
use std::fs;
use std::process::Command;

/// Environment variable: the address of a Debian mirror, instead of the one that apt uses.
pub const MIRROR: &str = "EXECUTORCH_DEBIAN_MIRROR";

/// The address of the mirror.
pub fn address(wanted: Option<&str>) -> Result<String> {
    if let Some(wanted) = wanted {
        return Ok(wanted.trim_end_matches('/').into());
    }
    let format = "$(SITE) $(LABEL) $(CREATED_BY)";
    let targets = output(Command::new("apt-get").args(["indextargets", "--format", format]));
    let targets = targets.with_context(|| format!("apt names no mirror; set {MIRROR}"))?;
    let site = of_targets(&targets);
    site.map(String::from).with_context(|| {
        format!("apt is configured with no mirror of Debian (`Label: Debian`); set {MIRROR}")
    })
}

/// The first address with Debian's own packages.
fn of_targets(targets: &str) -> Option<&str> {
    targets.lines().find_map(|line| line.strip_suffix(" Debian Packages"))
}

/// What a suite's release file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its `Date`.
    pub date: String,
    /// Digest over the release file, which itself holds the digests of all lists of packages.
    pub digest: String,
}

/// Asks the mirror for the state of `suite`.
pub fn state(mirror: &str, suite: &str) -> Result<State> {
    let url = format!("{mirror}/dists/{suite}/InRelease");
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("InRelease");
    output(Command::new("/usr/lib/apt/apt-helper").args(["download-file", &url]).arg(&path))
        .with_context(|| format!("cannot download {url}"))?;
    parse(&fs::read(&path)?).with_context(|| format!("{url} is no release file"))
}

fn parse(release: &[u8]) -> Result<State> {
    let text = String::from_utf8_lossy(release);
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    if field("SHA256").is_none() && !text.lines().any(|line| line.trim_end() == "SHA256:") {
        bail!("it lists no digests");
    }
    let date = field("Date").context("it has no date")?.to_owned();
    Ok(State { date, digest: digest::of_bytes(release) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_first_with_debians_packages() {
        let targets = "http://b.example/security Debian-Security Packages\n\
                       http://a.example/debian Debian DEP-11\n\
                       http://a.example/debian Debian Packages\n";
        assert_eq!(of_targets(targets), Some("http://a.example/debian"));
        assert_eq!(of_targets("http://a.example Other Packages\n"), None);
        assert_eq!(address(Some("http://x.example/debian/")).unwrap(), "http://x.example/debian");
    }

    #[test]
    fn release_files_are_read() {
        let text = "Origin: Debian\nDate: Sat, 11 Jul 2026 10:16:37 UTC\nSHA256:\n 00 1 main/x\n";
        let state = parse(text.as_bytes()).unwrap();
        assert_eq!(state.date, "Sat, 11 Jul 2026 10:16:37 UTC");
        assert_ne!(state.digest, parse(text.replace("00", "01").as_bytes()).unwrap().digest);
        assert!(parse(b"<html>not found</html>").is_err());
        assert!(parse(b"SHA256:\n").is_err());
    }
}
