//! A quick stand-in for a clean machine: this one, with most of it out of sight.

use crate::job::{GRACE, Paths};
use crate::results::End;
use crate::watch::{self, Ending, Limits, Running, Seen};
use crate::{Job, Progress, tools};
use anyhow::{Context, Result, anyhow};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What programs need of `/etc`, and has no settings of this machine's users.
const ETC: [&str; 7] = [
    "/etc/alternatives",
    "/etc/debian_version",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/os-release",
];

/// Namespaces of bubblewrap.
#[derive(Clone, Debug)]
pub struct Here {
    bwrap: PathBuf,
}

impl Here {
    /// Finds bubblewrap, or installs it.
    pub fn new() -> Result<Self> {
        tools::ensure(&[tools::BWRAP])?;
        let bwrap = tools::find(tools::BWRAP.0).context("bwrap is missing")?;
        Ok(Self { bwrap })
    }

    pub fn run(&self, job: &Job, paths: &Paths, progress: Progress<'_>) -> Result<(Seen, Result<End>)> {
        let users = tempfile::tempdir_in(&paths.out)?;
        fs::write(
            users.path().join("passwd"),
            "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n",
        )?;
        fs::write(users.path().join("group"), "root:x:0:\nuser:x:1000:\n")?;
        let mut command = self.namespaces(&fs::canonicalize(&job.files)?, paths, users.path());
        // When this ends, so does all that the command has started: the namespace of processes ends with it.
        let script = "echo executorch-vm: job starts; exec timeout -k 5 \"$1\" sh -c \"$2\"";
        command.args(["sh", "-c", script, "sh", &job.timeout.as_secs_f64().to_string(), &job.command]);
        let running = Running::start(&mut command, &paths.console)?;
        let limits = Limits { boot: job.boot_timeout, job: job.timeout, grace: GRACE };
        let seen = watch::follow(running, "here", &paths.console, limits, progress)?;
        let end = match &seen.ending {
            Ending::Ended(status) if seen.boot.is_some() => {
                let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
                Ok(End { status, seconds: seen.job.as_secs_f64() })
            }
            Ending::Ended(status) => Err(anyhow!(
                "the namespaces could not be made ({status}); as root they can, in most containers"
            )),
            Ending::NoStart | Ending::NoEnd => Err(anyhow!("the command was stopped")),
        };
        Ok((seen, end))
    }

    /// bubblewrap with everything but the program that it shall run.
    fn namespaces(&self, files: &Path, paths: &Paths, users: &Path) -> Command {
        let mut command = Command::new(&self.bwrap);
        command.args(["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]);
        command.args(["--uid", "1000", "--gid", "1000", "--hostname", "clean", "--clearenv"]);
        for (name, value) in [
            ("HOME", "/home/user"),
            ("USER", "user"),
            ("LOGNAME", "user"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LANG", "C.UTF-8"),
            ("TMPDIR", "/tmp"),
        ] {
            command.args(["--setenv", name, value]);
        }
        command.args(["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]);
        for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
            // Links into /usr, or folders of their own on older systems.
            match fs::read_link(name) {
                Ok(target) => command.arg("--symlink").arg(target).arg(name),
                Err(_) => command.args(["--ro-bind-try", name, name]),
            };
        }
        for path in ETC {
            command.args(["--ro-bind-try", path, path]);
        }
        for name in ["passwd", "group"] {
            command.arg("--ro-bind").arg(users.join(name)).arg(format!("/etc/{name}"));
        }
        command.args(["--tmpfs", "/tmp", "--tmpfs", "/home/user"]);
        command.arg("--ro-bind").arg(files).arg("/job");
        command.arg("--bind").arg(&paths.results).arg("/results");
        command.args(["--chdir", "/home/user"]);
        command
    }
}
