//! What a build knows of where its wheel comes from, and the check of what the wheel tells of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use executorch_tools::Tools;
use executorch_tools::command::{output, run};
use wheelhouse::provenance::parts::{Part, Toolchain};
use wheelhouse::provenance::statement::{self, Origin};
use wheelhouse::{archive, component, row};

use crate::installed::Environment;
use crate::place::Place;

/// Environment: URI of who builds; without it, a developer's machine does.
const BUILDER: &str = "EXECUTORCH_BUILDER";

/// An independent validator with the format's own schema.
const VALIDATOR: [&str; 1] = ["cyclonedx-python-lib[json-validation]==11.12.0"];

/// Writes into `stage` which compilers are used and the licences of what they link into every library.
pub fn toolchain(place: &Place, stage: &Path, zig: &Path) -> Result<()> {
    let rustc = |argument: &[&str]| output(Command::new("rustc").args(argument).current_dir(&place.root));
    let version = rustc(&["--version"])?;
    let release = version.split(' ').nth(1).context("rustc tells no version")?;
    let zig_version = Tools::ZIG.rsplit('=').next().unwrap_or_default();
    let part = |name: &str, version: &str, license: &str, repository: &str| Part {
        name: name.to_owned(),
        version: version.to_owned(),
        license: license.to_owned(),
        repository: repository.to_owned(),
        archive: None,
        sha256: None,
    };
    let linked = vec![
        part("rust-std", release, "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"),
        part("zig-compiler-rt", zig_version, "MIT", "https://github.com/ziglang/zig"),
        part(
            "zig-libunwind",
            zig_version,
            "Apache-2.0 WITH LLVM-exception",
            "https://github.com/llvm/llvm-project",
        ),
    ];
    let licenses = stage.join("licenses");
    fs::create_dir_all(&licenses)?;
    let texts = match place.tools.given() {
        Some(given) => linked.iter().map(|part| given.join("share/licenses").join(&part.name)).collect(),
        None => {
            let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?.trim());
            let zig = zig.parent().context("zig lies in no folder")?;
            vec![
                sysroot.join("share/doc/rust/COPYRIGHT-library.html"),
                zig.join("LICENSE"),
                zig.join("lib/libunwind/LICENSE.TXT"),
            ]
        }
    };
    for (Part { name, .. }, text) in linked.iter().zip(texts) {
        fs::copy(&text, licenses.join(name)).with_context(|| text.display().to_string())?;
    }
    let tools = [("rustc", version.trim()), ("zig", zig_version)];
    let tools = tools.map(|(name, version)| (name.to_owned(), version.to_owned()));
    Toolchain { tools: BTreeMap::from(tools), linked }.save(stage)
}

/// Writes the statement of `wheel` beside it, and returns its path. `inputs` are the paths that wheels are made from.
pub fn state(place: &Place, row: &str, stage: &Path, inputs: &[&str], wheel: &Path) -> Result<PathBuf> {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(&place.root));
    let revision = git(&["rev-parse", "HEAD"]).ok().map(|text| text.trim().to_owned());
    let modified = match &revision {
        Some(_) => !git(&[&["status", "--porcelain", "--"], inputs].concat())?.is_empty(),
        None => true,
    };
    let builder = std::env::var(BUILDER)
        .unwrap_or_else(|_| concat!(env!("CARGO_PKG_REPOSITORY"), "/developer").to_owned());
    let tools = Toolchain::load(stage)?.tools;
    let origin = Origin { row: row.to_owned(), revision, modified, builder, tools };
    let name = wheel.file_name().context("a wheel without a name")?.to_string_lossy();
    let text = statement::make(&name, &fs::read(wheel)?, &origin)?;
    let path = wheel.with_file_name(statement::file_name(&name));
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Validates the SBOM of `wheel` with a program that others wrote, and compares it with the wheel: every library and
/// all that it needs is named, and every crate that `cargo tree` names.
pub fn check(place: &Place, row: &str, wheel: &Path) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    let row = row::find(&rows, row)?;
    let entries = archive::read(&fs::read(wheel)?)?;
    let sbom = entries.iter().find(|entry| entry.path.contains(".dist-info/sboms/"));
    let sbom = sbom.context("the wheel has no SBOM")?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("sbom.cdx.json");
    fs::write(&path, &sbom.data)?;
    let environment = Environment::new(place, "sbom", &VALIDATOR)?;
    let script = place.root.join("checks/sbom/validate.py");
    run(environment.python().arg(script).arg(&path))?;

    let text = std::str::from_utf8(&sbom.data)?;
    let named = |what: &str| text.contains(&format!("\"{what}\""));
    let mut missing = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.data.starts_with(b"\x7fELF")) {
        let facts = wheelhouse::elf::read(&entry.data)?;
        missing.extend(facts.needed.into_iter().chain([entry.path.clone()]).filter(|name| !named(name)));
    }
    for component in row.components.iter().filter_map(|name| components.get(name)) {
        let tree = output(
            Command::new("cargo")
                .args(["tree", "--locked", "--prefix", "none", "--format", "pkg:cargo/{p}", "--edges"])
                .args(["normal,no-proc-macro", "--package", &component.package])
                .args(["--target", &row.system.triple()])
                .current_dir(&place.root),
        )?;
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let mut words = line.split(' ');
            let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let purl = format!("{name}@{}", version.trim_start_matches('v').replace('+', "%2B"));
            missing.extend(Some(purl).filter(|purl| !named(purl)));
        }
    }
    if !missing.is_empty() {
        bail!("{}'s SBOM does not name {missing:?}", wheel.display());
    }
    Ok(())
}
