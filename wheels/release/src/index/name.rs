//! Names of projects, wheels and indexes.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use pep440_rs::Version;

/// A project's name in the form that URLs use (PEP 503): lower case, each run of `-`, `_` and `.` one `-`.
pub fn normalize(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            _ => normal.push(character.to_ascii_lowercase()),
        }
    }
    normal
}

/// Refuses what cannot be a project's name.
pub fn check_project(name: &str) -> Result<()> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ensure!(
        letters && edge(name.as_bytes().first()) && edge(name.as_bytes().last()) && name.len() <= 200,
        "`{name}` is not a project's name: expected letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
    );
    Ok(())
}

/// Refuses what cannot be the name of an index, which is a folder.
pub fn check_index(name: &str) -> Result<()> {
    let letters = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    ensure!(
        letters && !name.is_empty() && !name.starts_with('-') && name.len() <= 64,
        "`{name}` is not the name of an index: expected lower-case letters, digits and `-`, as in `cu126`"
    );
    Ok(())
}

/// Refuses what cannot be the name of a file that lies beside the wheels.
pub fn check_file(name: &str) -> Result<()> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+!-".contains(&byte));
    ensure!(
        letters && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric()) && name.len() <= 240,
        "`{name}` is not a file name for an index: expected letters, digits and `.`, `_`, `+`, `!`, `-`, beginning \
         with a letter or digit, and no folder"
    );
    ensure!(
        !["index.html", "entries.json", "simple", "pins.txt", "advisories.json", "atom.xml"].contains(&name),
        "`{name}` is the name of a file that the index itself writes"
    );
    Ok(())
}

/// What the name of a wheel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WheelName {
    /// Project, normalised.
    pub project: String,
    /// Version with its local label.
    pub version: Version,
    /// Python, ABI and platform tags, as in the name.
    pub tags: [String; 3],
}

impl FromStr for WheelName {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let Parts { project, version, tags } = Parts::of(name)?;
        // A local label has `_` in file names where the version has `.` or `-`; both are equal versions.
        let version = version.parse().with_context(|| format!("`{name}`: version `{version}`"))?;
        Ok(Self { project: normalize(project), version, tags: tags.map(str::to_owned) })
    }
}

/// The parts of a wheel's name as they stand there, the version not yet read.
pub(super) struct Parts<'a> {
    pub project: &'a str,
    pub version: &'a str,
    pub tags: [&'a str; 3],
}

impl<'a> Parts<'a> {
    pub(super) fn of(name: &'a str) -> Result<Self> {
        check_file(name)?;
        let Some(stem) = name.strip_suffix(".whl") else {
            bail!("`{name}` is not a wheel: expected a name that ends in `.whl`");
        };
        let parts: Vec<&str> = stem.split('-').collect();
        let (project, version, tags) = match parts[..] {
            [project, version, python, abi, platform] => (project, version, [python, abi, platform]),
            [project, version, build, python, abi, platform]
                if build.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) =>
            {
                (project, version, [python, abi, platform])
            }
            _ => bail!("`{name}` is not a wheel: expected project-version[-build]-python-abi-platform.whl"),
        };
        check_project(project).with_context(|| format!("`{name}`"))?;
        ensure!(tags.iter().all(|tag| !tag.is_empty()), "`{name}` is not a wheel: one of its tags is empty");
        Ok(Self { project, version, tags })
    }
}

/// A file name as a URL's path segment: `+` would be read as a space by some buckets, `!` is left alone.
pub fn url(file: &str) -> String {
    file.replace('+', "%2B")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of PEP 503 and of the packaging guide.
    #[test]
    fn names_are_normalised_as_installers_do() {
        for name in [
            "friendly-bard",
            "Friendly-Bard",
            "FRIENDLY-BARD",
            "friendly.bard",
            "friendly_bard",
            "friendly--bard",
            "FrIeNdLy-._.-bArD",
        ] {
            assert_eq!(normalize(name), "friendly-bard");
        }
    }

    #[test]
    fn wheel_names_are_read() {
        let name: WheelName = "Some_Thing-1.5.0+cu126-cp310-abi3-manylinux_2_28_x86_64.whl".parse().unwrap();
        assert_eq!(name.project, "some-thing");
        assert_eq!(name.version.to_string(), "1.5.0+cu126");
        assert_eq!(name.tags, ["cp310", "abi3", "manylinux_2_28_x86_64"]);
        assert!("a-1-1build-py3-none-any.whl".parse::<WheelName>().is_ok());
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "a.whl",
            "a-1-py3-none.whl",
            "a-1-x-py3-none-any.whl",
            "a-one-py3-none-any.whl",
            "-1-py3-none-any.whl",
            "a-1-py3-none-any.zip",
            "../a-1-py3-none-any.whl",
            "a/b-1-py3-none-any.whl",
            "a-1-py3-none-any#.whl",
            "a-1-py3--any.whl",
            ".a-1-py3-none-any.whl",
            "a-1-py3-none-\"any.whl",
            "a-1-py3-none-a\u{301}ny.whl",
        ] {
            assert!(name.parse::<WheelName>().is_err(), "{name}");
        }
        for name in ["..", "", "CPU", "a/b", "-a", "."] {
            assert!(check_index(name).is_err(), "{name}");
        }
    }
}
