//! Brings into the store what the flake would download: crates and the sources of C libraries. Everything is downloaded by
//! the machine's own clients, and lands under the names that the flake's inputs and crane give it, with their digests.

use super::{Nix, add, nar_hash, unless};
use crate::place::Place;
use crate::{nvidia, wheel};
use anyhow::{Context, Result, ensure};
use executorch_tools::command::output;
use executorch_xnnpack_native::{Target, pristine};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::{component, row};

/// Adds the crates of `Cargo.lock`, as crane names them.
pub fn crates(place: &Place, folder: &Path, nix: &Nix) -> Result<()> {
    let lock = place.root.join("Cargo.lock");
    let stamp = folder.join("crates.stamp");
    let digest = wheel::file_digest(&lock)?;
    let done = fs::read_to_string(&stamp).ok().filter(|text| {
        text.split_once('\n').is_some_and(|(of, path)| of == digest && Path::new(path).exists())
    });
    unless(done.map(drop), "add the crates of Cargo.lock to the store", || {
        let mut cargo = Command::new("cargo");
        output(cargo.args(["fetch", "--locked", "--quiet"]).current_dir(&place.root))?;
        let archives = archives()?;
        let links = folder.join("crates");
        if links.exists() {
            fs::remove_dir_all(&links)?;
        }
        fs::create_dir_all(&links)?;
        let mut files = Vec::new();
        for name in locked(&fs::read_to_string(&lock)?)? {
            let archive = archives
                .iter()
                .map(|folder| folder.join(format!("{name}.crate")))
                .find(|path| path.is_file())
                .with_context(|| format!("cargo has not downloaded {name}"))?;
            // The store names a file after itself.
            let link = links.join(format!("cargo-src-{name}"));
            fs::hard_link(&archive, &link).or_else(|_| fs::copy(&archive, &link).map(drop))?;
            files.push(link);
        }
        let last = add_files(nix, &files)?;
        fs::write(&stamp, format!("{digest}\n{last}"))?;
        Ok(fs::remove_dir_all(links)?)
    })
}

/// Adds files to the store as what they are called, to be looked up by name and digest; returns the last one's path there.
fn add_files(nix: &Nix, files: &[PathBuf]) -> Result<String> {
    let mut store = Command::new(nix.program.with_file_name("nix-store"));
    store.args(["--add-fixed", "sha256"]).args(files).env("NIX_CONFIG", &nix.settings);
    Ok(output(&mut store)?.lines().last().context("no file was added")?.to_owned())
}

/// Adds NVIDIA's wheels that the gates of CUDA rows install.
pub fn nvidia(place: &Place, nix: &Nix) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let mut files = BTreeSet::new();
    for row in row::load(&place.root.join("wheels/rows.toml"), &components)?.values() {
        // Gates run on machines of this architecture.
        if row.system.arch() == std::env::consts::ARCH {
            files.extend(nvidia::wheels(place, row)?);
        }
    }
    add_files(nix, &files.into_iter().collect::<Vec<_>>()).map(drop)
}

/// The folders with the archives that cargo has downloaded.
fn archives() -> Result<Vec<PathBuf>> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"))?;
    let cache = Path::new(&home).join("registry/cache");
    let folders = fs::read_dir(&cache).with_context(|| cache.display().to_string())?;
    folders.map(|folder| Ok(folder?.path())).collect()
}

/// Name and version of each crate of a registry in the text of a `Cargo.lock`.
fn locked(text: &str) -> Result<Vec<String>> {
    let lock: toml::Table = text.parse().context("Cargo.lock")?;
    let packages =
        lock.get("package").and_then(toml::Value::as_array).context("Cargo.lock has no packages")?;
    let field = |package: &toml::Value, name: &str| Some(package.get(name)?.as_str()?.to_owned());
    let named = |package: &toml::Value| {
        field(package, "checksum")?;
        Some(format!("{}-{}", field(package, "name")?, field(package, "version")?))
    };
    Ok(packages.iter().filter_map(named).collect())
}

/// Adds the sources of XNNPACK and what it needs, which Debian keeps as they are where they are developed: with the very
/// digests of `flake.lock`, so that Nix takes them for what it would have fetched.
pub fn sources(place: &Place, folder: &Path, nix: &Nix) -> Result<()> {
    let lock = place.root.join("flake.lock");
    let stamp = folder.join("sources.stamp");
    let digest = wheel::file_digest(&lock)?;
    let done = fs::read_to_string(&stamp).ok().filter(|text| {
        let mut lines = text.lines();
        lines.next() == Some(&digest) && lines.all(|path| Path::new(path).exists())
    });
    unless(done.map(drop), "add the sources of C libraries to the store", || {
        let hashes = hashes(&fs::read_to_string(&lock)?)?;
        let config = place.xnnpack(Target::X86_64);
        let dir = tempfile::tempdir()?;
        let unpacked = pristine(config.sources.as_deref(), &config.cache.join("archives"), dir.path())?;
        let mut lines = vec![digest];
        for (input, tree) in unpacked {
            let wanted = hashes.get(&input).with_context(|| format!("flake.lock has no input `{input}`"))?;
            let found = nar_hash(nix, &tree)?;
            ensure!(
                *wanted == found,
                "flake.lock pins `{input}` by {wanted}, and sources.toml an archive of {found}: pin the same release"
            );
            lines.push(add(nix, "source", &tree)?);
        }
        Ok(fs::write(&stamp, lines.join("\n"))?)
    })
}

/// The inputs of the text of a `flake.lock`, and their digests.
fn hashes(text: &str) -> Result<BTreeMap<String, String>> {
    let lock: Value = serde_json::from_str(text).context("flake.lock")?;
    let nodes = lock.get("nodes").and_then(Value::as_object).context("flake.lock has no nodes")?;
    let hash = |node: &Value| Some(node.get("locked")?.get("narHash")?.as_str()?.to_owned());
    Ok(nodes.iter().filter_map(|(name, node)| Some((name.clone(), hash(node)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_registries_are_listed() {
        let text = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
                    [[package]]\nname = \"b\"\nversion = \"2.0.0+x\"\nchecksum = \"00\"\n";
        assert_eq!(locked(text).unwrap(), ["b-2.0.0+x"]);
        assert!(locked("version = 4").is_err());
    }

    #[test]
    fn the_lock_pins_the_releases_of_sources_toml() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read_to_string(root.join("flake.lock")).unwrap();
        let lock: Value = serde_json::from_str(&text).unwrap();
        let hashes = hashes(&text).unwrap();
        for (name, source) in executorch_xnnpack_native::sources().unwrap() {
            let revision = lock["nodes"][&name]["locked"]["rev"].as_str().unwrap();
            assert!(source.file.contains(&format!(".{}.orig", &revision[..7])), "{name}: {revision}");
            assert!(hashes[&name].starts_with("sha256-"));
        }
    }
}
