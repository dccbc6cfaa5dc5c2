//! Symbols across libraries: every import has a definition, every symbol of the interface has one.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Findings, Rule};
use super::{Library, Wheel, search, sorted};

/// Symbols that stand for a registry or a pool, and the component that owns them.
const OWNERS: [(&str, &str); 4] = [
    ("et_register_backend", "runtime"),
    ("et_register_kernels", "runtime"),
    ("et_register_device_allocator", "runtime"),
    ("et_parallel_for", "threadpool"),
];

/// Starts of the names of upstream's registries (C++).
const UPSTREAM: [&str; 3] = [
    "_ZN10executorch7runtime16register_backend",
    "_ZN10executorch7runtime16register_kernels",
    "_ZN10executorch7runtime12register_pal",
];

/// Whether `symbol` belongs to the runtime's interface, this project's or upstream's.
pub(super) fn is_interface(symbol: &str) -> bool {
    symbol.starts_with("et_") || UPSTREAM.iter().any(|start| symbol.starts_with(start))
}

/// Whether whoever imports `symbol` registers something.
pub(super) fn registers(symbol: &str) -> bool {
    symbol.starts_with("et_register_") || UPSTREAM.iter().any(|start| symbol.starts_with(start))
}

pub(super) fn undefined(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    let closure = closure(wheel, library);
    let shipped = |name: &str| closure.iter().find(|other| other.file_name() == name);
    let exports: BTreeSet<&str> =
        closure.iter().flat_map(|other| &other.facts.exports).map(String::as_str).collect();
    // Another wheel's library may define anything.
    let foreign = |name: &&String| !search::is_system(name, wheel) && shipped(name).is_none();
    let opaque = closure.iter().flat_map(|other| &other.facts.needed).any(|name| foreign(&name));
    let module = library.facts.extension_module();
    let python = |name: &str| module && (name.starts_with("Py") || name.starts_with("_Py"));
    let missing: Vec<&str> = library
        .facts
        .imports
        .iter()
        .filter(|import| match import.library.as_deref() {
            Some(from) if search::is_system(from, wheel) => false,
            Some(from) => shipped(from).is_some_and(|other| !other.facts.defines(&import.name)),
            None => !exports.contains(import.name.as_str()) && !python(&import.name) && !opaque,
        })
        .map(|import| import.name.as_str())
        .collect();
    if let [first, ..] = missing.as_slice() {
        let found = format!("{} undefined symbols, such as `{first}`", missing.len());
        let allowed = format!("symbols of {}", sorted(library.facts.needed.iter().map(String::as_str)));
        findings.add(
            Rule::Undefined,
            found,
            allowed,
            "link with --no-undefined to the library that defines them",
        );
    }
}

/// The library, and everything in the wheel that it needs, directly or not.
fn closure<'w, 'a>(wheel: &'w Wheel<'a>, library: &'w Library<'a>) -> Vec<&'w Library<'a>> {
    let mut closure = vec![library];
    let mut next = 0;
    while let Some(current) = closure.get(next).copied() {
        for needed in &current.facts.needed {
            let found = wheel.libraries.iter().find(|other| other.file_name() == needed);
            if let Some(found) = found.filter(|found| !closure.iter().any(|have| have.path == found.path)) {
                closure.push(found);
            }
        }
        next += 1;
    }
    closure
}

pub(super) fn definers(wheel: &Wheel<'_>, findings: &mut Findings<'_>) {
    let mut definers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for library in &wheel.libraries {
        for symbol in library.facts.exports.iter().filter(|symbol| is_interface(symbol)) {
            definers.entry(symbol).or_default().push(&library.path);
        }
    }
    // One finding for all symbols that the same files define.
    let mut groups: BTreeMap<&[&str], Vec<&str>> = BTreeMap::new();
    for (symbol, files) in definers.iter().filter(|(_, files)| files.len() > 1) {
        groups.entry(files).or_default().push(symbol);
    }
    for (files, symbols) in groups {
        let first = symbols.first().copied().unwrap_or_default();
        let found = format!("{} symbols, such as `{first}`, in {}", symbols.len(), files.join(", "));
        let mend = "two copies are two registries: link to the owner instead of linking its code in";
        findings.add(Rule::Definer, found, "one definer for each symbol", mend);
    }
    for (name, _, path) in wheel.components() {
        for (symbol, _) in OWNERS.iter().filter(|(_, owner)| *owner == name) {
            let files = definers.get(symbol).map_or(&[][..], Vec::as_slice);
            if files.is_empty() || (files.len() == 1 && files.first() != Some(&path.as_str())) {
                let found = format!("`{symbol}` in {}", sorted(files.iter().copied()));
                findings.add(Rule::Definer, found, path.as_str(), "export it from the library that owns it");
            }
        }
    }
}
