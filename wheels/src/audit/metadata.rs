//! File name, `METADATA` and `WHEEL`: who the wheel is, for which machines, and what it asks for.

use super::finding::{Finding, Findings, Rule};
use super::{Platform, Wheel, sorted};
use crate::archive::Entry;
use crate::row::{Row, System};
use crate::tag::{self, WheelName};
use crate::version::Version;

/// Reads the file name, and checks that the metadata lies where it says.
pub(super) fn file_name(name: &str, entries: &[Entry], findings: &mut Findings<'_>) -> Option<WheelName> {
    let Some(parsed) = tag::parse_wheel_file_name(name) else {
        let allowed = "name-version-python-abi-platform.whl";
        findings.add(Rule::Name, name, allowed, "name the file as the packer did");
        return None;
    };
    let folders = entries.iter().filter_map(|entry| entry.path.split_once('/'));
    let folders = sorted(folders.map(|(top, _)| top).filter(|top| top.ends_with(".dist-info")));
    let expected = format!("{}-{}.dist-info", parsed.distribution, parsed.version);
    if folders != expected {
        let mend = "file name and metadata folder must have the same name and version";
        findings.add(Rule::Name, folders, expected, mend);
        return None;
    }
    Some(parsed)
}

/// The machines that the wheel is for: its row's, or those of its own tag.
pub(super) fn platform(row: Option<&Row>, name: &WheelName) -> Option<Platform> {
    if let Some(row) = row {
        return Some(Platform { system: row.system, glibc: crate::elf::dotted(&row.glibc)? });
    }
    name.tag.platform.split('.').find_map(|platform| {
        if let Some(arch) = platform.strip_prefix("manylinux2014_") {
            return Some(Platform { system: System::from_arch(arch)?, glibc: (2, 17) });
        }
        let mut parts = platform.strip_prefix("manylinux_")?.splitn(3, '_');
        let glibc = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Platform { system: System::from_arch(parts.next()?)?, glibc })
    })
}

/// Values of the header `key`.
pub(super) fn values<'a>(metadata: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let head = metadata.lines().take_while(|line| !line.is_empty());
    head.filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(key).then(|| value.trim())
    })
}

/// The distribution that a requirement names, in its normal form with `_`.
pub(super) fn required(requirement: &str) -> String {
    let end = requirement.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    tag::normalize(&requirement[..end.unwrap_or(requirement.len())])
}

pub(super) fn check(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    let path = format!("{}/METADATA", wheel.dist_info);
    match wheel.text(&path) {
        Some(text) => metadata(wheel, text, &mut Findings::on(&path, list)),
        None => missing(&path, list),
    }
    let path = format!("{}/WHEEL", wheel.dist_info);
    match wheel.text(&path) {
        Some(text) => tags(wheel, text, &mut Findings::on(&path, list)),
        None => missing(&path, list),
    }
}

fn missing(path: &str, list: &mut Vec<Finding>) {
    let mend = "pack the wheel again with a tool that follows PEP 427";
    Findings::on(path, list).add(Rule::Metadata, "no such text file", "UTF-8 text", mend);
}

fn metadata(wheel: &Wheel<'_>, text: &str, findings: &mut Findings<'_>) {
    let one = |key: &'static str| {
        let mut values = values(text, key);
        values.next().filter(|_| values.next().is_none())
    };
    let mut lacks = |key: &str| {
        findings.add(Rule::Metadata, format!("not one `{key}`"), "exactly one", "write the header once");
    };
    if one("Metadata-Version").is_none() {
        lacks("Metadata-Version");
    }
    let Some(name) = one("Name") else { return lacks("Name") };
    let Some(version) = one("Version") else { return lacks("Version") };
    let project = wheel.row().map_or_else(|| tag::normalize(&wheel.name.distribution), Row::package);
    if tag::normalize(name) != project || tag::normalize(&wheel.name.distribution) != project {
        let found = format!("`{name}` in {}", wheel.file_name);
        findings.add(Rule::Name, found, project, "use the project's name in METADATA and in the file name");
    }
    if version != wheel.name.version {
        let mend = "use one version in METADATA and in the file name";
        findings.add(Rule::Version, version, wheel.name.version.as_str(), mend);
    }
    for license in values(text, "License-File") {
        if !wheel.has(&format!("{}/licenses/{license}", wheel.dist_info))
            && !wheel.has(&format!("{}/{license}", wheel.dist_info))
        {
            let found = format!("License-File {license}, which is not there");
            findings.add(Rule::Metadata, found, "files in `.dist-info/licenses`", "ship the licence's text");
        }
    }
    let Some(row) = wheel.row() else { return };
    match version.parse::<Version>() {
        Ok(parsed) if parsed.label == row.label => {}
        _ => {
            let allowed = match row.label.as_str() {
                "" => "X.Y.Z without a label".to_owned(),
                label => format!("X.Y.Z+{label}"),
            };
            findings.add(Rule::Version, version, allowed, format!("pack it as a wheel of row {}", row.name));
        }
    }
    let python = row.requires_python().map(|floor| format!(">={floor}")).unwrap_or_default();
    let found = sorted(values(text, "Requires-Python"));
    if found != python {
        findings.add(Rule::Python, found, python, "take the floor from `python` in rows.toml");
    }
    let mut found: Vec<&str> = values(text, "Requires-Dist").collect();
    let mut expected = row.requirements(version);
    found.sort_unstable();
    expected.sort_unstable();
    if found != expected {
        let mend = "take Requires-Dist from `dependencies` in rows.toml";
        findings.add(Rule::Dependencies, format!("{found:?}"), format!("{expected:?}"), mend);
    }
}

fn tags(wheel: &Wheel<'_>, text: &str, findings: &mut Findings<'_>) {
    if values(text, "Wheel-Version").next().is_none_or(|version| !version.starts_with("1.")) {
        findings.add(
            Rule::Metadata,
            "no Wheel-Version 1.x",
            "Wheel-Version: 1.0",
            "pack it with a current tool",
        );
    }
    if !values(text, "Root-Is-Purelib").eq(["false"]) {
        let mend = "compiled code belongs into platlib";
        findings.add(Rule::Metadata, "Root-Is-Purelib is not false", "Root-Is-Purelib: false", mend);
    }
    let named = &wheel.name.tag;
    let mend = "pack the wheel again: installers trust the file name";
    let expected = sorted(named.each().iter().map(String::as_str));
    let found = sorted(values(text, "Tag"));
    if found != expected {
        findings.add(
            Rule::Tag,
            format!("{found} in WHEEL"),
            format!("{expected}, as in the file name"),
            mend,
        );
    }
    match wheel.row() {
        Some(row) if *named != row.tag() => {
            findings.add(
                Rule::Tag,
                named.to_string(),
                row.tag().to_string(),
                format!("pack it as a wheel of row {}", row.name),
            );
        }
        None if wheel.platform.is_none() => {
            let allowed = "manylinux_X_Y_x86_64 or manylinux_X_Y_aarch64";
            let mend = "build against an old enough glibc, and say so in the tag";
            findings.add(Rule::Tag, named.platform.as_str(), allowed, mend);
        }
        _ => {}
    }
}
