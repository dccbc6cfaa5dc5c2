//! Downloads from the Debian mirrors that this machine's apt is configured with.
//!
//! apt itself downloads, so that its proxies and credentials hold here too. It need not know the release that a
//! file belongs to, because the file's place in the pool and its digest are pinned.

use crate::source::Source;
use anyhow::{Context, Result, bail};
use executorch_tools::command::{output, step};
use std::path::Path;
use std::process::Command;

const HELPER: &str = "/usr/lib/apt/apt-helper";

/// Downloads an archive to `to`, from the first mirror that has it.
pub fn download(source: &Source, to: &Path) -> Result<()> {
    // Only prints what an update would fetch.
    let uris = output(Command::new("apt-get").args(["update", "--print-uris"]))
        .context("this machine has no apt to download sources with")?;
    let mirrors = mirrors(&uris);
    let mut failures = Vec::new();
    for mirror in &mirrors {
        let uri = format!("{mirror}/{}/{}", source.path, source.file);
        let fetch = || {
            let mut command = Command::new(HELPER);
            command.arg("download-file").arg(&uri).arg(to).arg(format!("SHA256:{}", source.sha256));
            output(&mut command)
        };
        match step(&format!("download {}", source.file), fetch) {
            Ok(_) => return Ok(()),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    bail!("none of apt's {} mirrors has {}:\n{}", mirrors.len(), source.file, failures.join("\n"))
}

/// The mirrors in apt's list of `'URI' file size hash` lines, each once, in order.
fn mirrors(uris: &str) -> Vec<&str> {
    let mut mirrors = Vec::new();
    for line in uris.lines() {
        let uri = line.strip_prefix('\'').and_then(|line| line.split_once('\''));
        let mirror = uri.and_then(|(uri, _)| uri.split_once("/dists/"));
        if let Some((mirror, _)) = mirror
            && !mirrors.contains(&mirror)
        {
            mirrors.push(mirror);
        }
    }
    mirrors
}

#[cfg(test)]
mod tests {
    use super::mirrors;

    #[test]
    fn mirrors_are_read_once_and_in_order() {
        let uris = "'http://a.test/debian/dists/x/InRelease' a_x_InRelease 0 \n\
                    'http://b.test/sec/dists/x-security/InRelease' b 0 \n\
                    'http://a.test/debian/dists/y/main/Packages.xz' a_y 0 \n\
                    'http://c.test/flat/InRelease' c 0 \n\
                    Reading package lists...\n";
        assert_eq!(mirrors(uris), ["http://a.test/debian", "http://b.test/sec"]);
    }
}
