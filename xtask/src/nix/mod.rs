//! `cargo xtask nix …`: the flake without a network. Installs Nix for this tree alone, brings what the flake's inputs and
//! the registries would give into the store, and replaces nixpkgs, crane and jetpack-nixos by `pkgs/offline`.

mod check;
mod host;
mod install;
mod seed;

pub use check::{check, evaluates, gated, library, same_wheel};

use crate::place::Place;
use anyhow::{Context, Result, bail, ensure};
use executorch_tools::command::{self, output, step};
use executorch_tools::ensure;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The flake's inputs that the stand-in replaces.
const REPLACED: [&str; 3] = ["nixpkgs", "crane", "jetpack-nixos"];

/// Whether the flake runs on this machine without a network.
pub const RUNS_HERE: bool = cfg!(target_arch = "x86_64");

/// Nix as it is used here.
pub struct Nix {
    /// The program.
    program: PathBuf,
    /// Its settings, besides those of its installation.
    settings: String,
}

impl Nix {
    /// `nix` with arguments.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("NIX_CONFIG", &self.settings);
        command
    }
}

/// Nix with the stand-in, prepared for some of its commands.
struct Flake<'a> {
    place: &'a Place,
    nix: Nix,
    stand_in: PathBuf,
}

impl<'a> Flake<'a> {
    /// For commands that need no more than `args` do.
    fn new(place: &'a Place, args: &[&str]) -> Result<Self> {
        let folder = place.target.join("nix");
        let nix = prepare(place, &folder, args)?;
        let stand_in = host::stand_in(place, &folder, &nix, &machines(args)?)?;
        Ok(Self { place, nix, stand_in })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.nix.command(&[]);
        command.args(arguments(args, &self.stand_in)).current_dir(&self.place.root);
        command
    }

    /// Builds an output, and returns a link to it.
    fn build(place: &'a Place, name: &str) -> Result<PathBuf> {
        let output = format!(".#{name}");
        let args = ["build", &output, "--print-build-logs", "--out-link"];
        let link = place.target.join("nix").join(name);
        command::run(Self::new(place, &args)?.command(&args).arg(&link))?;
        Ok(link)
    }
}

/// Runs `nix` with `args`, as if the network were there.
pub fn run(place: &Place, args: &[String]) -> Result<ExitCode> {
    ensure!(
        RUNS_HERE,
        "the flake runs without a network on x86_64 only; with one, type `nix {}`",
        args.join(" ")
    );
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = Flake::new(place, &args)?.command(&args);
    // Programs of the flake that call Nix call it in the same way.
    let status = command.env("EXECUTORCH_NIX", "cargo xtask nix").status().context("cannot start Nix")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nix, with everything in the store that the flake takes from a network.
fn prepare(place: &Place, folder: &Path, args: &[&str]) -> Result<Nix> {
    let program = install::nix(folder)?;
    ensure(&host::PROGRAMS)?;
    if looks_at_nix_files(args) {
        host::lints(place)?;
    }
    let nix = Nix { program, settings: host::settings(place, compiles_cuda(args))? };
    // What only looks at Nix itself needs nothing of the flake.
    if flake_options_at(args).is_some() {
        seed::sources(place, folder, &nix)?;
        seed::crates(place, folder, &nix)?;
        if compiles_cuda(args) && args.iter().any(|argument| argument.contains("gate")) {
            seed::nvidia(place, &nix)?;
        }
    }
    Ok(nix)
}

/// The clean machines that a command needs: the checks, and whatever is called a gate.
fn machines(args: &[&str]) -> Result<Vec<executorch_vm::Image>> {
    if !is_check(args) && !args.iter().any(|argument| argument.contains("gate")) {
        return Ok(Vec::new());
    }
    // `debian-11` is meant where it stands in an output's name, and `debian-12` by all that name none.
    let named = |image: &executorch_vm::Image| {
        let name = image.name();
        args.iter().any(|argument| argument.ends_with(&format!("-{name}")))
    };
    let images: Vec<_> = executorch_vm::Image::all().filter(named).collect();
    if !images.is_empty() {
        return Ok(images);
    }
    Ok(vec!["debian-12".parse()?])
}

/// Whether the command builds rows with device code.
fn compiles_cuda(args: &[&str]) -> bool {
    let builds = args.first() == Some(&"build");
    let row = |argument: &&str| ["cu1", "jp", "#index"].iter().any(|name| argument.contains(name));
    is_check(args) || builds && args.iter().any(row)
}

fn is_check(args: &[&str]) -> bool {
    args.starts_with(&["flake", "check"])
}

/// Whether the command runs what looks at Nix files.
fn looks_at_nix_files(args: &[&str]) -> bool {
    match args {
        ["fmt" | "develop", ..] => true,
        _ if is_check(args) => true,
        [_, rest @ ..] => rest.iter().any(|argument| argument.ends_with(".nix-files")),
        [] => false,
    }
}

/// Where in the arguments options about flakes may stand: behind the command that takes a flake.
fn flake_options_at(args: &[&str]) -> Option<usize> {
    const COMMANDS: [&str; 12] = [
        "build",
        "bundle",
        "develop",
        "eval",
        "fmt",
        "log",
        "path-info",
        "print-dev-env",
        "repl",
        "run",
        "shell",
        "why-depends",
    ];
    const OF_FLAKE: [&str; 4] = ["archive", "check", "metadata", "show"];
    match args {
        ["flake", command, ..] => OF_FLAKE.contains(command).then_some(2),
        [command, ..] => COMMANDS.contains(command).then_some(1),
        [] => None,
    }
}

/// Nix's arguments, with the stand-in in the place of the inputs.
fn arguments(args: &[&str], stand_in: &Path) -> Vec<String> {
    let owned = |args: &[&str]| args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>();
    let Some(at) = flake_options_at(args) else { return owned(args) };
    let (command, rest) = args.split_at(at);
    let mut all = owned(command);
    for input in REPLACED {
        all.extend(["--override-input".into(), input.into(), format!("path:{}", stand_in.display())]);
    }
    all.push("--no-write-lock-file".into());
    all.extend(owned(rest));
    all
}

/// Adds a file or folder to the store as what it is called there; returns its path in the store.
fn add(nix: &Nix, name: &str, path: &Path) -> Result<String> {
    let mut command = nix.command(&["store", "add", "--name", name]);
    let added =
        output(command.arg(path)).with_context(|| format!("cannot add {} to the store", path.display()))?;
    Ok(added.trim().to_owned())
}

/// The digest of a file or folder as `flake.lock` writes it.
fn nar_hash(nix: &Nix, path: &Path) -> Result<String> {
    let text = output(nix.command(&["hash", "path", "--sri", "--type", "sha256"]).arg(path))?;
    Ok(text.trim().to_owned())
}

/// Fails with advice if there is another installation of Nix, whose store would be the same.
fn no_other_nix() -> Result<()> {
    if Path::new("/nix/var/nix/daemon-socket/socket").exists() {
        bail!("this machine has a Nix of its own, with a daemon: type `nix` instead of `cargo xtask nix`");
    }
    Ok(())
}

/// A named step, unless `done` says that there is nothing to do.
fn unless<T>(done: Option<T>, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    done.map_or_else(|| step(name, work), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_stand_behind_the_command() {
        let seen = |text: &str| arguments(&text.split(' ').collect::<Vec<_>>(), Path::new("/s")).join(" ");
        let overrides = "--override-input nixpkgs path:/s --override-input crane path:/s \
                         --override-input jetpack-nixos path:/s --no-write-lock-file";
        assert_eq!(seen("build .#wheel-cpu -L"), format!("build {overrides} .#wheel-cpu -L"));
        assert_eq!(seen("run .#demo -- --x"), format!("run {overrides} .#demo -- --x"));
        assert_eq!(seen("flake check"), format!("flake check {overrides}"));
        assert_eq!(seen("store gc"), "store gc");
        assert_eq!(seen("flake init"), "flake init");
    }
}
