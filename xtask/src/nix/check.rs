//! What `cargo xtask test` tries of the flake.

use super::Flake;
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

/// Nix and Rust read the same rows, every row evaluates, and mistakes are told in a sentence.
pub fn evaluates(place: &Place) -> Result<()> {
    let flake = Flake::new(place, &["eval"])?;
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

/// Puts the flake's build of the XNNPACK library where cargo's builds look for it, unless they have made it themselves: the
/// bytes are the same, and it takes minutes.
pub fn library(place: &Place) -> Result<()> {
    let built = Flake::build(place, "xnnpack")?;
    for entry in fs::read_dir(&built)? {
        let entry = entry?;
        let (from, to) = (entry.path(), place.native.join(entry.file_name()));
        if from.is_dir() && !to.exists() {
            fs::create_dir_all(&place.native)?;
            let part = to.with_extension("part");
            run(Command::new("cp").args(["-R", "--no-preserve=mode"]).arg(&from).arg(&part))?;
            fs::rename(&part, &to).with_context(|| to.display().to_string())?;
        }
    }
    Ok(())
}

/// All checks of the flake for this system.
pub fn check(place: &Place) -> Result<()> {
    let args = ["flake", "check", "--print-build-logs", "--keep-going"];
    run(&mut Flake::new(place, &args)?.command(&args))
}

/// What the gate of a row on an image has left: its report, and the wheel that passed.
pub fn gated(place: &Place, row: &str, image: &str) -> Result<PathBuf> {
    Flake::build(place, &format!("gate-{row}-{image}"))
}

/// The flake's wheel of a row has the bytes of `wheel`, and what looks at it passes.
pub fn same_wheel(place: &Place, row: &str, wheel: &Path) -> Result<()> {
    let link = Flake::build(place, &format!("wheel-{row}"))?;
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
