//! NVIDIA's wheels that a row depends on, as `wheels/nvidia.toml` pins them.

use crate::place::Place;
use ::wheelhouse::row::Row;
use anyhow::{Context, Result};
use executorch_tools::command::{run, step};
use executorch_tools::digest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A wheel on PyPI.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Its file's name.
    pub file: String,
    /// The file's digest.
    pub sha256: String,
}

/// The wheels that a row depends on.
pub fn pins(root: &Path, row: &Row) -> Result<Vec<Pin>> {
    let path = root.join("wheels/nvidia.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let all: BTreeMap<String, BTreeMap<String, Pin>> = toml::from_str(&text).context("wheels/nvidia.toml")?;
    let arch = row.system.arch();
    let dependencies = row.dependencies.iter().filter(|dependency| dependency.starts_with("nvidia-"));
    dependencies
        .map(|dependency| {
            let name = dependency.split(['=', '<', '>', ';', ' ']).next().unwrap_or_default();
            let pin = all.get(name).and_then(|by_arch| by_arch.get(arch)).cloned();
            pin.with_context(|| {
                format!("`{dependency}` has no wheel to try it with: pin one as [{name}.{arch}] in wheels/nvidia.toml")
            })
        })
        .collect()
}

/// The wheels that a row depends on, downloaded once.
pub fn wheels(place: &Place, row: &Row) -> Result<Vec<PathBuf>> {
    let folder = place.target.join("gate/dependencies");
    pins(&place.root, row)?
        .iter()
        .map(|pin| {
            let path = folder.join(&pin.file);
            if !path.exists() {
                step(&format!("download {}", pin.file), || download(place, pin, &folder))?;
            }
            digest::verify(&path, &pin.sha256)
                .context("a wheel is not what wheels/nvidia.toml says: remove it, or correct the pin")?;
            Ok(path)
        })
        .collect()
}

/// Has pip look up and download a wheel, for whichever machine it is.
fn download(place: &Place, pin: &Pin, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let parts: Vec<&str> = pin.file.trim_end_matches(".whl").split('-').collect();
    let [name, version, .., platforms] = parts.as_slice() else {
        anyhow::bail!("wheels/nvidia.toml: {} is no wheel's name", pin.file);
    };
    let mut pip = executorch_tools::pip(&place.tools.venv::<&str>("python", &[])?);
    pip.args(["download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.12", "--dest"]);
    pip.arg(folder);
    for platform in platforms.split('.') {
        pip.args(["--platform", platform]);
    }
    run(pip.arg(format!("{name}=={version}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::wheelhouse::{component, row};

    #[test]
    fn every_row_s_dependencies_are_pinned_in_their_range() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let components = component::load(&root.join("wheels/components.toml")).unwrap();
        let rows = row::load(&root.join("wheels/rows.toml"), &components).unwrap();
        let mut seen = 0;
        for row in rows.values() {
            for pin in pins(&root, row).unwrap() {
                let version = pin.file.split('-').nth(1).unwrap();
                let major = row.cuda.as_ref().unwrap().version.split('.').next().unwrap();
                assert!(version.starts_with(&format!("{major}.")), "{}", pin.file);
                assert!(pin.file.ends_with(&format!("_{}.whl", row.system.arch())), "{}", pin.file);
                assert_eq!(pin.sha256.len(), 64);
                seen += 1;
            }
        }
        assert!(seen >= 3);
    }

    #[test]
    fn a_dependency_without_a_pin_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let components = component::load(&root.join("wheels/components.toml")).unwrap();
        let mut row = row::load(&root.join("wheels/rows.toml"), &components).unwrap()["cpu"].clone();
        row.dependencies = vec!["nvidia-nothing>=1; platform_system == 'Linux'".into()];
        let error = pins(&root, &row).unwrap_err().to_string();
        assert!(error.contains("[nvidia-nothing.x86_64]"), "{error}");
    }
}
