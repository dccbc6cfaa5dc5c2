//! The input folder: what `cargo xtask gate` hands to the machine.
//!
//! `gate.toml`, `rows.toml` and `components.toml` (as in `wheels/`), `index/` (the staging index and the decoy, each with
//! `simple/`), `models/` (programs with cases), `projects/` (sources of consumers), `README.md`; for rows with CUDA `fakes/`
//! (libraries that stand in for the driver and the runtime).

use anyhow::{Context, Result, ensure};
use executorch_gate_report::Rules;
use serde::{Deserialize, Serialize};
use std::path::Path;
use wheelhouse::component::{self, Components};
use wheelhouse::row::{self, Row};

/// `gate.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gate {
    /// The row in `rows.toml`.
    pub row: String,
    /// The release that users pin, with the local label.
    pub version: String,
    /// The wheel's file name; it lies in `index/<index>/`.
    pub wheel: String,
    /// Its digest, hexadecimal.
    pub sha256: String,
    /// Name of the clean machine.
    pub image: String,
    /// Folder below `index/` that users name first.
    pub index: String,
    /// Folder below `index/` of the second index, with a newer release that must not win.
    pub decoy: String,
    /// The newer release's version.
    pub decoy_version: String,
    /// Time limits are multiplied with this; emulated machines are slow.
    #[serde(default = "one")]
    pub patience: f64,
    /// What the row allows and asks for on this image.
    #[serde(default)]
    pub rules: Rules,
}

fn one() -> f64 {
    1.0
}

impl Gate {
    /// The release without the local label, which the runtime tells of itself: `1.5.0`.
    pub fn release(&self) -> &str {
        self.version.split('+').next().unwrap_or_default()
    }
}

/// The input, read and checked.
#[derive(Debug)]
pub struct Input {
    pub gate: Gate,
    pub row: Row,
    pub components: Components,
}

impl Input {
    /// Reads the folder's three tables, and looks whether the folders are there.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("gate.toml");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let gate: Gate = toml::from_str(&text).with_context(|| path.display().to_string())?;
        ensure!(
            gate.patience.is_finite() && gate.patience > 0.0,
            "gate.toml: patience = {}: expected a number above 0",
            gate.patience
        );
        for (field, name) in [("wheel", &gate.wheel), ("index", &gate.index), ("decoy", &gate.decoy)] {
            let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
            ensure!(plain, "gate.toml: {field} = {name:?}: expected a name without a folder");
        }
        let components = component::load(&folder.join("components.toml"))?;
        let rows = row::load(&folder.join("rows.toml"), &components)?;
        let row = row::find(&rows, &gate.row)?.clone();
        for name in [
            format!("index/{}/simple", gate.index),
            format!("index/{}/simple", gate.decoy),
            "models".into(),
            "projects".into(),
        ] {
            ensure!(folder.join(&name).is_dir(), "the input folder {} has no {name}/", folder.display());
        }
        Ok(Self { gate, row, components })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATE: &str = r#"
row = "cpu"
version = "1.5.0"
wheel = "a.whl"
sha256 = "00"
image = "here"
index = "staging"
decoy = "decoy"
decoy-version = "9.0"
"#;

    fn read(gate: &str) -> Result<Input> {
        let folder = tempfile::tempdir().unwrap();
        let wheels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wheels");
        for name in ["rows.toml", "components.toml"] {
            std::fs::copy(wheels.join(name), folder.path().join(name)).unwrap();
        }
        for name in ["index/staging/simple", "index/decoy/simple", "models", "projects"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("gate.toml"), gate).unwrap();
        Input::read(folder.path())
    }

    #[test]
    fn a_sound_folder_is_read() {
        let input = read(GATE).unwrap();
        assert!(input.gate.rules.skips.is_empty() && input.row.glibc == "2.28");
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, message) in [
            ("\"cpu\"", "\"gpu\"", "no row `gpu`"),
            ("image", "imago", "unknown field `imago`"),
            ("\"a.whl\"", "\"../a.whl\"", "without a folder"),
            ("\"staging\"", "\"other\"", "index/other/simple"),
            ("row =", "patience = 0.0\nrow =", "above 0"),
        ] {
            let error = format!("{:#}", read(&GATE.replace(from, to)).unwrap_err());
            assert!(error.contains(message), "{error}");
        }
    }
}
