//! What `cargo xtask test` tries of the flake.

use super::{Nix, arguments, host, prepare};
use crate::place::Place;
use crate::wheel;
use anyhow::{Context, Result, ensure};
use executorch_tools::command::{output, run, step};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::{component, row};

/// Every row as Nix sees it.
const ROWS: &str = ".#lib.rows";
/// The builder of every wheel.
const WHEELS: &str = ".#packages";
/// Mistakes in a row, as expressions of Nix about it, and what is said of them.
const MISTAKES: [(&str, &str); 5] = [
    ("row // { system = \"riscv64-linux\"; }", "expected one of x86_64-linux, aarch64-linux"),
    ("row // { glibc = \"2.17\"; }", "system and glibc call for manylinux_2_17_x86_64"),
    ("row // { components = [ \"runtime\" \"nothing\" ]; }", "components.toml does not declare nothing"),
    ("row // { cuda.version = \"11.4\"; }", "pkgs/rows.nix knows 12.6, 13.0"),
    ("row // { tested = row.tested // { jetpack = \"6.2\"; }; }", "name its CUDA under [cpu.cuda]"),
];

/// Nix with the stand-in.
struct Flake<'a> {
    place: &'a Place,
    nix: Nix,
    stand_in: PathBuf,
}

impl<'a> Flake<'a> {
    fn new(place: &'a Place) -> Result<Self> {
        let folder = place.target.join("nix");
        let nix = prepare(place, &folder, &["build".into()])?;
        let stand_in = host::stand_in(place, &folder, &nix, &[])?;
        Ok(Self { place, nix, stand_in })
    }

    fn command(&self, args: &[&str]) -> Command {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let mut command = self.nix.command(&[]);
        command.args(arguments(&args, &self.stand_in)).current_dir(&self.place.root);
        command
    }
}

/// Nix and Rust read the same rows, every row evaluates, and mistakes are told in a sentence.
pub fn evaluates(place: &Place) -> Result<()> {
    let flake = Flake::new(place)?;
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;

    let dir = tempfile::tempdir()?;
    let file = |name: &str, text: String| -> Result<PathBuf> {
        let path = dir.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    };
    let files = [
        file("nix-rows", output(&mut flake.command(&["eval", "--json", ROWS]))?)?,
        file("rust-rows", serde_json::to_string(&rows)?)?,
        file("nix-matrix", output(&mut flake.command(&["eval", "--json", ".#lib.matrix"]))?)?,
        file("rust-matrix", serde_json::to_string(&row::ci(&rows, &components))?)?,
    ];
    run(Command::new("python3").arg(place.root.join("checks/rows.py")).args(files))?;

    let paths = "of: builtins.mapAttrs (_: all: builtins.mapAttrs (_: one: one.drvPath) all) of";
    let evaluated = step("evaluate all rows", || {
        output(&mut flake.command(&["eval", "--json", WHEELS, "--apply", paths]))
    })?;
    for name in rows.keys() {
        ensure!(
            evaluated.contains(&format!("\"wheel-{name}\":\"/nix/store/")),
            "row {name} has no wheel in the flake"
        );
    }

    let table = place.root.join("pkgs/rows.nix");
    let refused = |expression: &str, reason: &str| -> Result<()> {
        let whole =
            format!("let matrix = import {}; inherit (matrix {{ }}) find; in {expression}", table.display());
        let done = flake.nix.command(&["eval", "--impure", "--expr", &whole]).output()?;
        let message = String::from_utf8_lossy(&done.stderr);
        ensure!(!done.status.success(), "{expression} should have been refused because of `{reason}`");
        ensure!(message.contains(reason), "{expression} was not refused because of `{reason}`: {message}");
        Ok(())
    };
    for (change, reason) in MISTAKES {
        refused(
            &format!(
                "let row = removeAttrs (find \"cpu\") [ \"name\" ]; in (matrix {{ rows.cpu = {change}; }}).rows.cpu"
            ),
            reason,
        )?;
    }
    refused("find \"riscv\"", "no row `riscv`: wheels/rows.toml has cpu,")
}

/// The flake's wheel of a row has the bytes of `wheel`, and what looks at it passes.
pub fn same_wheel(place: &Place, row: &str, wheel: &Path) -> Result<()> {
    let flake = Flake::new(place)?;
    let link = place.target.join("nix").join(format!("wheel-{row}"));
    let output_of = format!(".#wheel-{row}");
    let mut build = flake.command(&["build", &output_of, "--print-build-logs", "--out-link"]);
    run(build.arg(&link))?;
    let name = wheel.file_name().context("a wheel without a name")?;
    let built = link.join(name);
    ensure!(
        wheel::file_digest(&built)? == wheel::file_digest(wheel)?,
        "{} and {} have other bytes",
        built.display(),
        wheel.display()
    );
    eprintln!("xtask: wheel {row}: the flake and cargo make the same bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "installs Nix; `cargo xtask test` runs it as a step"]
    fn the_flake_evaluates() {
        evaluates(&Place::here().unwrap()).unwrap();
    }
}
