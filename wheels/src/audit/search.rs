//! How the loader finds what a library needs: `DT_NEEDED`, `DT_RUNPATH`, and no `DT_RPATH`.

use super::finding::{Findings, Rule};
use super::metadata::{required, values};
use super::{Library, Wheel, sorted};
use crate::row::{RUNTIME, SYSTEM_FOLDER};

/// Libraries of the C library, which every machine of the platform tag has.
const LIBC: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// More that the manylinux policies count on. The project's own wheels do without.
const MANYLINUX: [&str; 7] = [
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libmvec.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "libatomic.so.1",
    "libz.so.1",
];

/// Folders of other wheels in `site-packages`, and the start of the names of the distributions that bring them.
const PROVIDERS: [(&str, &str); 4] = [
    ("executorch_runtime", "executorch_runtime"),
    ("nvidia", "nvidia_"),
    ("tensorrt_libs", "tensorrt"),
    ("torch", "torch"),
];

/// Whether the system has the library `name`.
pub(super) fn is_system(name: &str, wheel: &Wheel<'_>) -> bool {
    LIBC.contains(&name) || (wheel.row().is_none() && MANYLINUX.contains(&name))
}

pub(super) fn check(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    if let Some(rpath) = &library.facts.rpath {
        let mend = "link with --enable-new-dtags: LD_LIBRARY_PATH must go first";
        findings.add(Rule::Rpath, rpath.as_str(), "DT_RUNPATH", mend);
    }
    runpath(wheel, library, findings);
    needed(wheel, library, findings);
}

/// The folder that the entry of a search path means for a file in `folder`, from the root of the wheel; none for an entry
/// that is not relative to the file, or leads out of `site-packages`.
fn resolve(entry: &str, folder: &str) -> Option<String> {
    let rest = entry.strip_prefix("$ORIGIN").or_else(|| entry.strip_prefix("${ORIGIN}"))?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Entries of the search paths.
fn entries<'a>(library: &'a Library<'_>) -> Vec<&'a str> {
    let facts = &library.facts;
    facts.runpath.iter().chain(&facts.rpath).flat_map(|path| path.split(':')).collect()
}

/// Whether `folder` belongs to another wheel that this one depends on.
fn is_provided(folder: &str, wheel: &Wheel<'_>) -> bool {
    let top = folder.split('/').next().unwrap_or_default();
    let metadata = wheel.text(&format!("{}/METADATA", wheel.dist_info)).unwrap_or_default();
    PROVIDERS.iter().filter(|(name, _)| *name == top).any(|(_, distribution)| {
        values(metadata, "Requires-Dist").any(|requirement| required(requirement).starts_with(distribution))
    })
}

fn runpath(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    let found = library.facts.runpath.as_deref();
    if let (Some((name, component)), Some(row)) = (library.component, wheel.row()) {
        let expected = row.runpath(component);
        if found != expected.as_deref() {
            let allowed = expected.as_deref().unwrap_or("none").to_owned();
            let mend = format!("link it as `needs` and `external` of `{name}` say");
            findings.add(Rule::Runpath, found.unwrap_or("none"), allowed, mend);
        }
        return;
    }
    let lies = |folder: &str| {
        wheel
            .entries
            .iter()
            .any(|entry| entry.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    };
    let bad: Vec<&str> = entries(library)
        .into_iter()
        .filter(|entry| match resolve(entry, library.folder()) {
            Some(folder) => !lies(&folder) && !is_provided(&folder, wheel),
            None => true,
        })
        .map(|entry| if entry.is_empty() { "an empty entry" } else { entry })
        .collect();
    if !bad.is_empty() {
        let allowed = "`$ORIGIN/…` into this wheel, or into a wheel that it depends on";
        findings.add(Rule::Runpath, sorted(bad), allowed, "take these entries away");
    }
}

fn needed(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    let folders: Vec<String> =
        entries(library).into_iter().filter_map(|entry| resolve(entry, library.folder())).collect();
    for needed in library.facts.needed.iter().filter(|needed| !is_system(needed, wheel)) {
        let place = wheel.libraries.iter().find(|other| other.file_name() == needed);
        if is_found(wheel, library, needed, &folders) {
            if let (Some((name, component)), Some(place)) = (library.component, place) {
                let declared =
                    place.component.is_some_and(|(other, _)| component.needs.iter().any(|n| n == other));
                if !declared {
                    let mend = format!("name it in `needs` of `{name}`, or do not link to it");
                    findings.add(
                        Rule::Needed,
                        needed.as_str(),
                        sorted(component.needs.iter().map(String::as_str)),
                        mend,
                    );
                }
            }
            continue;
        }
        let allowed = match wheel.row() {
            Some(_) => "the C library, components in `needs`, libraries in `external`",
            None => {
                "libraries of manylinux systems, of this wheel, of the runtime, or of a wheel that it depends on"
            }
        };
        let mend = match place {
            Some(place) => format!("it lies at {}: lead DT_RUNPATH there", place.path),
            None => "link it in statically, ship it, or depend on the wheel that has it, and lead DT_RUNPATH there".into(),
        };
        findings.add(Rule::Needed, needed.as_str(), allowed, mend);
    }
}

fn is_found(wheel: &Wheel<'_>, library: &Library<'_>, needed: &str, folders: &[String]) -> bool {
    if folders.iter().any(|folder| wheel.has(&format!("{folder}/{needed}"))) {
        return true;
    }
    if let Some(row) = wheel.row() {
        let folder = row.external.get(needed);
        return folder.is_some_and(|folder| folder == SYSTEM_FOLDER || folders.contains(folder));
    }
    // Entry points are called when the runtime's libraries are already in the process, where the loader finds them by name.
    let runtime = wheel
        .expected
        .components
        .values()
        .any(|component| component.project == RUNTIME && component.soname() == Some(needed));
    let elsewhere =
        wheel.libraries.iter().any(|other| other.file_name() == needed && other.path != library.path);
    runtime || (!elsewhere && folders.iter().any(|folder| is_provided(folder, wheel)))
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn search_paths_are_followed() {
        for (entry, folder, expected) in [
            ("$ORIGIN", "a/lib", Some("a/lib")),
            ("${ORIGIN}/../x", "a/lib", Some("a/x")),
            ("$ORIGIN/../../nvidia/cu13/lib", "a/lib", Some("nvidia/cu13/lib")),
            ("$ORIGIN/../../../etc", "a/lib", None),
            ("$ORIGINAL", "a/lib", None),
            ("/usr/lib", "a/lib", None),
            ("lib", "a/lib", None),
            ("", "a/lib", None),
        ] {
            assert_eq!(resolve(entry, folder).as_deref(), expected, "{entry}");
        }
    }
}
