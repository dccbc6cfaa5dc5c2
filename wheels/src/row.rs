//! The rows of the release matrix: `wheels/rows.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::component::Components;
use crate::tag::Tag;

/// All rows by name.
pub type Rows = BTreeMap<String, Row>;

/// One row; `wheels/rows.toml` says what each field means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "documented once, at the head of rows.toml")]
pub struct Row {
    pub system: System,
    pub platform: String,
    pub glibc: String,
    pub python: String,
    pub label: String,
    pub index: String,
    pub components: Vec<String>,
    pub dependencies: Vec<String>,
    pub tested: BTreeMap<String, String>,
    pub budget: BTreeMap<String, u64>,
    pub gate_images: Vec<String>,
    pub publish: bool,
}

/// Machines that rows exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum System {
    /// 64-bit Intel and AMD.
    #[serde(rename = "x86_64-linux")]
    X86_64,
    /// 64-bit Arm.
    #[serde(rename = "aarch64-linux")]
    Aarch64,
}

impl System {
    /// The machine's name in Rust and zig target triples and in platform tags.
    pub fn arch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

impl Row {
    /// The wheel's tag.
    pub fn tag(&self) -> Tag {
        Tag { python: self.python.clone(), abi: "abi3".into(), platform: self.platform.clone() }
    }

    /// `cp310` as `3.10`.
    pub fn requires_python(&self) -> Result<String> {
        match self.python.strip_prefix("cp3") {
            Some(minor) if minor.parse::<u32>().is_ok() => Ok(format!("3.{minor}")),
            _ => bail!("python = \"{}\": expected a tag such as cp310", self.python),
        }
    }

    fn check(&self, components: &Components) -> Result<()> {
        let (major, minor) = crate::elf::dotted(&self.glibc)
            .with_context(|| format!("glibc = \"{}\": expected a version such as 2.28", self.glibc))?;
        let platform = format!("manylinux_{major}_{minor}_{}", self.system.arch());
        if self.platform != platform {
            bail!("platform = \"{}\": system and glibc call for {platform}", self.platform);
        }
        self.requires_python()?;
        for (place, name) in self.components.iter().enumerate() {
            let component = components
                .get(name)
                .with_context(|| format!("component `{name}` is not declared in components.toml"))?;
            if let Some(need) = component.needs.iter().find(|need| !self.components[..place].contains(need)) {
                bail!("component `{name}` needs `{need}`: name it earlier in `components`");
            }
            if !self.budget.contains_key(name) {
                bail!("component `{name}` has no size budget");
            }
        }
        if !self.budget.contains_key("wheel") {
            bail!("the wheel has no size budget");
        }
        let stray = self.budget.keys().find(|key| *key != "wheel" && !self.components.contains(key));
        stray.map_or(Ok(()), |key| bail!("budget names `{key}`, which the row does not ship"))
    }
}

/// Reads and checks `rows.toml`.
pub fn load(path: &Path, components: &Components) -> Result<Rows> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text, components).with_context(|| path.display().to_string())
}

/// Reads and checks the text of a `rows.toml`.
pub fn parse(text: &str, components: &Components) -> Result<Rows> {
    let rows: Rows = toml::from_str(text)?;
    for (name, row) in &rows {
        row.check(components).with_context(|| format!("row `{name}`"))?;
    }
    Ok(rows)
}

/// The row called `name`, or an error that lists the rows.
pub fn find<'a>(rows: &'a Rows, name: &str) -> Result<&'a Row> {
    rows.get(name).with_context(|| {
        let names: Vec<&str> = rows.keys().map(String::as_str).collect();
        format!("no row `{name}`: rows.toml has {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPONENTS: &str = include_str!("../components.toml");
    const ROWS: &str = include_str!("../rows.toml");

    fn parse_with(from: &str, to: &str) -> Result<Rows> {
        assert!(ROWS.contains(from), "{from}");
        parse(&ROWS.replace(from, to), &crate::component::parse(COMPONENTS).unwrap())
    }

    #[test]
    fn the_committed_rows_are_sound() {
        let rows = parse_with("[cpu]", "[cpu]").unwrap();
        assert_eq!(rows["cpu"].tag().to_string(), "cp310-abi3-manylinux_2_28_x86_64");
        assert_eq!(rows["cpu"].requires_python().unwrap(), "3.10");
        assert!(find(&rows, "gpu").unwrap_err().to_string().contains("cpu"));
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, message) in [
            ("publish = true", "publish = true\nspeed = 3", "unknown field `speed`"),
            ("x86_64-linux", "riscv64-linux", "riscv64-linux"),
            ("glibc = \"2.28\"", "glibc = \"2.34\"", "manylinux_2_34_x86_64"),
            ("glibc = \"2.28\"", "glibc = \"new\"", "2.28"),
            ("\"runtime\", \"threadpool\",", "\"threadpool\",", "needs `runtime`"),
            ("threadpool = 700_000", "other = 1", "no size budget"),
            ("\nwheel = ", "\n# wheel = ", "wheel has no size budget"),
            ("\"python\"]", "\"python\", \"xnnpack\"]", "not declared"),
        ] {
            let error = format!("{:#}", parse_with(from, to).unwrap_err());
            assert!(error.contains(message), "{from} -> {to}: {error}");
        }
    }
}
