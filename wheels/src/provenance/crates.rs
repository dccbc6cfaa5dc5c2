//! The crates that cargo links into a package's library: with the package's features, for one target, without
//! development dependencies, build scripts and procedural macros.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use guppy::graph::cargo::{CargoOptions, CargoResolverVersion};
use guppy::graph::feature::StandardFeatures;
use guppy::graph::{DependencyDirection, PackageGraph, PackageMetadata, PackageSource};
use guppy::platform::{Platform, TargetFeatures};
use guppy::{CargoMetadata, MetadataCommand};
use serde::Deserialize;

use crate::digest::is_sha256;
use crate::row::System;

/// Name and version.
pub type Id = (String, String);

/// A crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// SPDX expression from its manifest.
    pub license: Option<String>,
    /// The licence's file, if its manifest names one.
    pub license_file: Option<PathBuf>,
    /// Its source repository.
    pub repository: Option<String>,
    /// The folder of its sources.
    pub folder: PathBuf,
    /// SHA-256 of its archive in the registry; none for the crates of this workspace.
    pub sha256: Option<String>,
    /// The crates that it links, among those of the same call.
    pub links: BTreeSet<Id>,
}

/// Everything that the workspace may link, for one target.
pub struct Graph {
    packages: PackageGraph,
    platform: Platform,
    checksums: BTreeMap<Id, String>,
}

impl Graph {
    /// Asks cargo about the workspace in `root`, or takes its answer (`cargo metadata --format-version 1
    /// --all-features --locked`) from the file `metadata`. `Cargo.lock` is read from `root`.
    pub fn load(root: &Path, system: System, metadata: Option<&Path>) -> Result<Self> {
        let triple = system.triple();
        let packages = match metadata {
            Some(file) => {
                let json = fs::read_to_string(file).with_context(|| file.display().to_string())?;
                CargoMetadata::parse_json(json).and_then(CargoMetadata::build_graph)
            }
            None => MetadataCommand::new()
                .current_dir(root)
                .other_options(["--locked", "--filter-platform", triple.as_str()])
                .build_graph(),
        };
        let packages = packages.context("cargo metadata")?;
        let platform = Platform::new(triple, TargetFeatures::Unknown).context("target")?;
        let lock = root.join("Cargo.lock");
        let text = fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
        let checksums = checksums(&text).with_context(|| lock.display().to_string())?;
        Ok(Self { packages, platform, checksums })
    }

    /// The crates that are linked into the library of the workspace's `package`, itself among them.
    pub fn linked(&self, package: &str) -> Result<BTreeMap<Id, Crate>> {
        let member = self.packages.workspace().member_by_name(package);
        let member = member.with_context(|| format!("package `{package}`"))?;
        let mut options = CargoOptions::new();
        options
            .set_resolver(CargoResolverVersion::V2)
            .set_include_dev(false)
            .set_target_platform(self.platform.clone())
            .set_host_platform(self.platform.clone());
        let set = member.to_feature_set(StandardFeatures::Default).into_cargo_set(&options)?;
        let packages = set.target_features().to_package_set();
        let mut all = BTreeMap::new();
        for package in packages.packages(DependencyDirection::Forward) {
            all.insert(id(&package), self.describe(&package)?);
        }
        for link in set.target_links() {
            let to = id(&link.to());
            if all.contains_key(&to)
                && let Some(from) = all.get_mut(&id(&link.from()))
            {
                from.links.insert(to);
            }
        }
        Ok(all)
    }

    fn describe(&self, package: &PackageMetadata<'_>) -> Result<Crate> {
        let folder = package.manifest_path().parent().context("a manifest lies in no folder")?;
        let sha256 = match package.source() {
            PackageSource::Workspace(_) => None,
            _ => Some(self.checksums.get(&id(package)).cloned().with_context(|| {
                format!(
                    "crate {} {} has no checksum in Cargo.lock: only crates of the workspace and of registries can be \
                     linked into a wheel",
                    package.name(),
                    package.version()
                )
            })?),
        };
        Ok(Crate {
            license: package.license().map(str::to_owned),
            license_file: package.license_file().map(|file| folder.join(file).into()),
            repository: package.repository().map(str::to_owned),
            folder: folder.into(),
            sha256,
            links: BTreeSet::new(),
        })
    }
}

fn id(package: &PackageMetadata<'_>) -> Id {
    (package.name().to_owned(), package.version().to_string())
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The checksums in the text of a `Cargo.lock`.
fn checksums(text: &str) -> Result<BTreeMap<Id, String>> {
    let lock: Lock = toml::from_str(text)?;
    let mut all = BTreeMap::new();
    for Locked { name, version, checksum } in lock.package {
        let Some(checksum) = checksum else { continue };
        if !is_sha256(&checksum) {
            bail!("checksum of {name} {version}: `{checksum}` is no SHA-256");
        }
        if let Some(other) = all.insert((name.clone(), version.clone()), checksum) {
            bail!("{name} {version} stands there twice, from two registries (the other checksum is {other})");
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// What `cargo tree` says is linked into a package.
    fn tree(package: &str, triple: &str) -> BTreeSet<Id> {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "--prefix", "none", "--format", "{p}", "--package", package])
            .args(["--edges", "normal,no-proc-macro", "--target", triple])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let id = |line: &str| {
            let mut words = line.split(' ');
            (words.next().unwrap().to_owned(), words.next().unwrap().trim_start_matches('v').to_owned())
        };
        text.lines().filter(|line| !line.is_empty()).map(id).collect()
    }

    #[test]
    fn exactly_the_crates_of_cargo_tree_are_linked() {
        let graph = Graph::load(&root(), System::X86_64, None).unwrap();
        let components = crate::component::load(&root().join("wheels/components.toml")).unwrap();
        for component in components.values().filter(|component| component.built) {
            let ours: BTreeSet<Id> = graph.linked(&component.package).unwrap().into_keys().collect();
            assert_eq!(ours, tree(&component.package, &System::X86_64.triple()), "{}", component.package);
        }
    }

    #[test]
    fn crates_of_the_registry_have_checksums_and_links() {
        let graph = Graph::load(&root(), System::X86_64, None).unwrap();
        let all = graph.linked("executorch-core").unwrap();
        let core = all.iter().find(|((name, _), _)| name == "executorch-core").unwrap().1;
        assert_eq!(core.sha256, None);
        let half = core.links.iter().find(|(name, _)| name == "half").unwrap();
        let half = &all[half];
        assert!(half.sha256.as_deref().is_some_and(is_sha256));
        assert!(half.folder.join("Cargo.toml").is_file() && half.license.is_some());
        assert!(graph.linked("no-such-package").is_err());
    }

    #[test]
    fn a_lock_file_with_doubts_is_refused() {
        let digest = "ab".repeat(32);
        let package = |checksum: &str| {
            format!("[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"{checksum}\"\n")
        };
        assert_eq!(checksums(&package(&digest)).unwrap()[&("a".into(), "1.0.0".into())], digest);
        assert!(checksums(&package("abc")).unwrap_err().to_string().contains("no SHA-256"));
        let twice = package(&digest).repeat(2);
        assert!(checksums(&twice).unwrap_err().to_string().contains("twice"));
    }
}
