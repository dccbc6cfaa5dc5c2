//! What users should install: one exact requirement a project.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use pep440_rs::Version;

use crate::index::Entry;

/// The requirements for the newest of `wheels`, sorted by project. Where machines have different newest versions,
/// each gets its own, with a marker.
pub(super) fn pins<'a>(wheels: impl Iterator<Item = &'a Entry>) -> Result<Vec<String>> {
    let mut projects: BTreeMap<&str, Vec<(Option<&str>, Version)>> = BTreeMap::new();
    for wheel in wheels {
        let version = wheel.version.parse().ok();
        let version =
            version.with_context(|| format!("`{}`: `{}` is not a version", wheel.filename, wheel.version))?;
        projects.entry(&wheel.project).or_default().push((machine(&wheel.filename), version));
    }
    let mut pins = vec![];
    for (project, wheels) in projects {
        let newest = |machine: Option<&str>| {
            wheels.iter().filter(|(of, _)| of.is_none() || *of == machine).map(|(_, version)| version).max()
        };
        let machines: BTreeSet<Option<&str>> = wheels.iter().map(|(machine, _)| *machine).collect();
        let versions: BTreeMap<_, _> = machines.iter().map(|machine| (*machine, newest(*machine))).collect();
        let distinct: BTreeSet<_> = versions.values().flatten().collect();
        match (distinct.len(), distinct.first()) {
            (1, Some(version)) => pins.push(format!("{project}=={version}")),
            _ => pins.extend(versions.iter().filter_map(|(machine, version)| {
                Some(format!("{project}=={}; platform_machine == \"{}\"", (*version)?, (*machine)?))
            })),
        }
    }
    Ok(pins)
}

/// The machine that a wheel is for, by its platform tag; none if it is for all.
fn machine(filename: &str) -> Option<&'static str> {
    let stem = filename.strip_suffix(".whl")?;
    ["x86_64", "aarch64"].into_iter().find(|machine| stem.ends_with(machine))
}
