//! `cargo xtask release-dry-run ROW`: the whole way of a wheel to its users and back, on this machine alone: audit, gate,
//! approvals, promotion, installation, yank and rollback, with keys that are made for it.

use crate::gate;
use crate::place::Place;
use crate::{wheel, wheelhouse};
use ::wheelhouse::component;
use ::wheelhouse::row::{self, Row};
use anyhow::{Context, Result, bail, ensure};
use executorch_tools::command::{output, run, step};
use executorch_tools::pip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to take to its users.
pub struct Request {
    /// The row.
    pub row: String,
    /// Images to gate on instead of the row's, if there are any: the rules of the dry run then ask for no others.
    pub images: Vec<String>,
    /// What the flake's gate on the only image has left: its report, and the wheel that passed. None to build a wheel and to
    /// run the gates.
    pub gated: Option<PathBuf>,
}

/// Runs it.
pub fn dry_run(place: &Place, request: &Request) -> Result<()> {
    let name = request.row.as_str();
    let train = Train::new(place, request)?;
    step("audit", || run(train.wheelhouse("audit").arg(&train.wheel).args(["--row", name])))?;
    step("sign and verify the statement of provenance", || train.provenance())?;
    step("put the wheel into staging", || train.stage())?;
    for image in &train.row.gate_images {
        train.gate(image, request.gated.as_deref())?;
    }
    step("a promotion without approvals is refused", || {
        fs::create_dir_all(train.approvals())?;
        refused(&mut train.promote(), "approv")
    })?;
    step("approve, as two owners", || OWNERS.iter().try_for_each(|owner| train.approve(owner)))?;
    let promoted = step("promote", || output(&mut train.promote()))?;
    step("install from the index", || train.install())?;
    let head = step("verify", || output(&mut train.on_index("verify")))?;

    let key = train.key(RELEASE);
    step("yank", || {
        let mut yank = train.on_index("yank");
        run(yank.arg(&train.file).args(["--reason", "a dry run", "--key"]).arg(&key))?;
        refused(&mut train.pip(&train.project()?)?, "No matching distribution")
    })?;
    step("roll back to the promotion", || {
        let mut rollback = train.on_index("rollback");
        rollback.args([
            "--to",
            promoted.trim(),
            "--restore-yanked",
            "--reason",
            "the dry run is over",
            "--key",
        ]);
        let pins = output(rollback.arg(train.key(OWNERS[0])))?;
        ensure!(pins.contains(train.version()?), "the pins lack {}: {pins}", train.version()?);
        train.install()
    })?;
    step("verify what became of the log", || {
        run(train.on_index("verify").args(["--remembered", head.trim()]))?;
        run(&mut train.on_index("notify"))
    })?;
    println!("{}", train.store().join(&train.row.index).join("index.html").display());
    Ok(())
}

/// Those who answer for the index, and whose approvals it asks.
const OWNERS: [&str; 2] = ["first-owner", "second-owner"];
/// Who writes the log.
const RELEASE: &str = "release-machine";
/// Who runs the gate.
const GATE: &str = "gate-machine";
/// Who builds wheels.
const BUILDER: &str = "builder";

/// A store with its indexes, keys and evidence, in a folder of its own.
struct Train<'a> {
    place: &'a Place,
    name: &'a str,
    row: Row,
    folder: PathBuf,
    /// The `wheelhouse` command.
    program: PathBuf,
    wheel: PathBuf,
    /// The wheel's file name.
    file: String,
}

impl<'a> Train<'a> {
    fn new(place: &'a Place, request: &'a Request) -> Result<Self> {
        let name = request.row.as_str();
        let components = component::load(&place.root.join("wheels/components.toml"))?;
        let mut row =
            row::find(&row::load(&place.root.join("wheels/rows.toml"), &components)?, name)?.clone();
        if !request.images.is_empty() {
            row.gate_images = request.images.clone();
        }
        let built = match &request.gated {
            None => wheel::build(place, name, &place.root.join("dist"))?,
            Some(folder) => {
                ensure!(
                    row.gate_images.len() == 1,
                    "one gate has left {}, and the row asks for {}: name its image",
                    folder.display(),
                    row.gate_images.join(", ")
                );
                wheel_in(folder)?
            }
        };
        let file =
            built.file_name().and_then(|file| file.to_str()).context("the wheel has no name")?.to_owned();
        let program = wheelhouse::program(place)?;
        let folder = place.target.join("release-dry-run").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let wheel = folder.join("wheel").join(&file);
        fs::create_dir_all(folder.join("wheel"))?;
        fs::copy(&built, &wheel)?;
        let train = Self { place, name, row, folder, program, wheel, file };
        match &request.gated {
            None => {
                let statement = format!("{}.provenance.json", train.file);
                fs::copy(built.with_file_name(&statement), train.wheel.with_file_name(&statement))
                    .with_context(|| statement)?;
            }
            Some(folder) => {
                let mut make = Command::new(&train.program);
                make.args(["provenance", "make", "--row", name, "--builder", "nix", "--modified", "--libs"]);
                run(make.arg(folder).arg(&train.wheel))?;
            }
        }
        train.declare()?;
        Ok(train)
    }

    /// Makes the keys and writes the declarations that name them.
    fn declare(&self) -> Result<()> {
        let wheels = self.tree().join("wheels");
        fs::create_dir_all(&wheels)?;
        fs::create_dir_all(self.folder.join("keys"))?;
        fs::copy(self.place.root.join("wheels/components.toml"), wheels.join("components.toml"))?;
        let rows = fs::read_to_string(self.place.root.join("wheels/rows.toml"))?;
        let mut rows: toml::Table = rows.parse().context("rows.toml")?;
        let row =
            rows.get_mut(self.name).and_then(toml::Value::as_table_mut).context("rows.toml lost the row")?;
        row.insert("gate-images".into(), self.row.gate_images.clone().into());
        if let Some(skips) = row.get_mut("allowed-skips").and_then(toml::Value::as_table_mut) {
            skips.retain(|image, _| {
                image == row::ANY_IMAGE || self.row.gate_images.iter().any(|name| name == image)
            });
        }
        fs::write(wheels.join("rows.toml"), toml::to_string(&rows)?)?;

        let list = |names: &[&str]| -> Result<toml::Value> {
            let keys = names.iter().map(|name| {
                let public = output(Command::new(&self.program).arg("keygen").arg(self.key(name)))?;
                fs::write(self.key(name).with_extension("public"), public.trim())?;
                Ok(toml::Table::from_iter([
                    ("name".to_owned(), (*name).into()),
                    ("key".to_owned(), public.trim().into()),
                ]))
            });
            Ok(keys.collect::<Result<Vec<_>>>()?.into())
        };
        let index = toml::Table::from_iter([
            ("public".to_owned(), self.row.publish.into()),
            ("rows".to_owned(), vec![self.name].into()),
            ("approvals".to_owned(), (OWNERS.len() as i64).into()),
            ("owners".to_owned(), list(&OWNERS)?),
            ("writers".to_owned(), list(&[RELEASE])?),
            ("gate".to_owned(), list(&[GATE])?),
            ("builders".to_owned(), list(&[BUILDER])?),
            ("modified".to_owned(), true.into()),
        ]);
        let indexes = toml::Table::from_iter([
            ("staging".to_owned(), "staging".into()),
            ("index".to_owned(), toml::Table::from_iter([(self.row.index.clone(), index.into())]).into()),
        ]);
        Ok(fs::write(wheels.join("indexes.toml"), toml::to_string(&indexes)?)?)
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    fn reports(&self) -> PathBuf {
        self.folder.join("reports")
    }

    fn approvals(&self) -> PathBuf {
        self.folder.join("approvals")
    }

    fn key(&self, name: &str) -> PathBuf {
        self.folder.join("keys").join(format!("{name}.key"))
    }

    /// The distribution's name in the wheel's file name, and its version.
    fn named(&self) -> Result<(&str, &str)> {
        let mut parts = self.file.split('-');
        parts.next().zip(parts.next()).with_context(|| format!("{} is no wheel's name", self.file))
    }

    fn project(&self) -> Result<String> {
        Ok(self.named()?.0.replace('_', "-"))
    }

    fn version(&self) -> Result<&str> {
        Ok(self.named()?.1)
    }

    /// A subcommand that reads the declarations of the dry run.
    fn wheelhouse(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(subcommand).arg("--root").arg(self.tree());
        command
    }

    /// A subcommand on the row's index.
    fn on_index(&self, subcommand: &str) -> Command {
        let mut command = self.wheelhouse(subcommand);
        command.arg("--store").arg(self.store()).args(["--index", &self.row.index]);
        command
    }

    fn promote(&self) -> Command {
        let mut command = self.on_index("promote");
        command.arg(&self.file).arg("--reports").arg(self.reports()).arg("--approvals").arg(self.approvals());
        command.arg("--key").arg(self.key(RELEASE));
        command
    }

    fn provenance(&self) -> Result<()> {
        let key = self.key(BUILDER);
        let command = |action: &str| {
            let mut command = Command::new(&self.program);
            // Whoever tries things out may have changed sources.
            command.args(["provenance", action]).arg(&self.wheel).arg("--allow-modified").arg("--key");
            command
        };
        run(command("sign").arg(&key))?;
        let public = fs::read_to_string(key.with_extension("public"))?;
        run(command("verify").arg(public).args(["--row", self.name]))
    }

    fn stage(&self) -> Result<()> {
        fs::create_dir_all(self.store())?;
        let statement = self.wheel.with_file_name(format!("{}.intoto.json", self.file));
        let mut command = Command::new(&self.program);
        command.args(["index", "add", "--row", self.name, "--store"]).arg(self.store());
        run(command.arg("--provenance").arg(statement).arg(&self.wheel))
    }

    /// Tries the wheel on an image, unless the gate has left its report in `gated`, and signs the report.
    fn gate(&self, image: &str, gated: Option<&Path>) -> Result<()> {
        let written = match gated {
            Some(folder) => folder.join("report.json"),
            None => {
                let out = self.folder.join("gate").join(image);
                let request = gate::Request {
                    row: self.name.to_owned(),
                    image: Some(image.to_owned()),
                    wheel: Some(self.wheel.clone()),
                    out: Some(out.clone()),
                    only: Vec::new(),
                };
                gate::gate(self.place, &request)?;
                out.join("results/report.json")
            }
        };
        fs::create_dir_all(self.reports())?;
        let report = self.reports().join(format!("{image}.json"));
        fs::copy(&written, &report).with_context(|| written.display().to_string())?;
        run(Command::new(&self.program).arg("sign").arg(report).arg("--key").arg(self.key(GATE)))
    }

    fn approve(&self, owner: &str) -> Result<()> {
        let mut command = self.on_index("approve");
        command.arg(&self.file).arg("--reports").arg(self.reports()).arg("--key").arg(self.key(owner));
        run(command.arg("--out").arg(self.approvals().join(format!("{owner}.json"))))
    }

    /// Installs what users would get from the index, and tries whether it runs.
    fn install(&self) -> Result<()> {
        run(&mut self.pip(&format!("{}=={}", self.project()?, self.version()?))?)?;
        let python = self.folder.join("users/bin/python");
        let digits = self.place.root.join("examples/digits/digits.pte");
        let mut inspect = Command::new(python);
        inspect.args(["-m", "executorch_runtime", "inspect"]).arg(digits).current_dir(&self.folder);
        output(inspect.env_remove("PYTHONPATH").env_remove("LD_LIBRARY_PATH")).map(drop)
    }

    /// pip's installation of `requirement` into an environment with nothing in it, which knows the index alone.
    fn pip(&self, requirement: &str) -> Result<Command> {
        let users = self.folder.join("users");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&users))?;
        let mut command = pip(&users);
        let simple = format!("file://{}/", self.store().join(&self.row.index).join("simple").display());
        command.args(["--isolated", "install", "--no-cache-dir", "--index-url", &simple, requirement]);
        command.env_remove("PIP_FIND_LINKS");
        Ok(command)
    }
}

/// The only wheel in a folder.
fn wheel_in(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut wheels = paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "whl"));
    match (wheels.next(), wheels.next()) {
        (Some(wheel), None) => Ok(wheel),
        _ => bail!("{} should hold the wheel that passed the gate, and no other", folder.display()),
    }
}

/// Runs a command that has to fail, with a message that contains `reason`.
fn refused(command: &mut Command, reason: &str) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let done = command.output().with_context(|| format!("cannot start {program}"))?;
    let message = String::from_utf8_lossy(&done.stderr);
    ensure!(!done.status.success(), "{program} should have failed, with a message about `{reason}`");
    ensure!(message.contains(reason), "{program} failed, but not because of `{reason}`: {message}");
    Ok(())
}
