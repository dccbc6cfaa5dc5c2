//! Delegates in wheels of their own: they call the runtime's registry and bring none.

use super::finding::{Finding, Findings, Rule};
use super::metadata::{required, values};
use super::{Wheel, sorted, symbols};
use crate::row::RUNTIME;

/// The group of entry points that the runtime calls.
const GROUP: &str = "executorch_runtime.delegates";

pub(super) fn check(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    for library in &wheel.libraries {
        let mut findings = Findings::on(&library.path, list);
        let exports = || library.facts.exports.iter().map(String::as_str);
        let owned: Vec<&str> = exports().filter(|symbol| symbols::is_interface(symbol)).collect();
        if let [first, ..] = owned.as_slice() {
            let found = format!("{} symbols, such as `{first}`", owned.len());
            let mend = "link to libexecutorch.so.1 only, and export nothing of the runtime";
            findings.add(Rule::Coreless, found, "no symbol of the runtime's interface", mend);
        }
        if library.facts.extension_module() {
            let found = sorted(exports().filter(|symbol| symbol.starts_with("PyInit_")));
            let mend = "make it a plain shared library, which C++ programs can load too";
            findings.add(Rule::Pyinit, found, "no entry point of an extension module", mend);
        }
    }
    let mut findings = Findings::on(wheel.file_name, list);
    let mut imports = wheel.libraries.iter().flat_map(|library| &library.facts.imports);
    if !imports.any(|import| symbols::registers(&import.name)) {
        let mend = "register from a static initialiser; check that the linker kept it";
        findings.add(Rule::Imports, "no library that imports et_register_*", "at least one", mend);
    }
    entry_point(wheel, list);
    let path = format!("{}/METADATA", wheel.dist_info);
    let metadata = wheel.text(&path).unwrap_or_default();
    let runtime = crate::tag::normalize(RUNTIME);
    if !values(metadata, "Requires-Dist").any(|requirement| required(requirement) == runtime) {
        let found = sorted(values(metadata, "Requires-Dist"));
        let allowed = format!("a requirement on {RUNTIME}");
        Findings::on(&path, list).add(
            Rule::Runtime,
            found,
            allowed,
            "declare the runtime that it was built for",
        );
    }
}

fn entry_point(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    let path = format!("{}/entry_points.txt", wheel.dist_info);
    let lines = wheel.text(&path).unwrap_or_default().lines().map(str::trim);
    let mut group = "";
    let mut targets = Vec::new();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            group = name.trim();
        } else if group == GROUP {
            targets.push(line.split_once('=').map_or("", |(_, target)| target.trim()));
        }
    }
    let exists = |target: &&str| {
        let module = target.split(':').next().unwrap_or_default().trim().replace('.', "/");
        target.contains(':')
            && (wheel.has(&format!("{module}.py")) || wheel.has(&format!("{module}/__init__.py")))
    };
    if targets.is_empty() || !targets.iter().all(exists) {
        let found = if targets.is_empty() { "none".into() } else { sorted(targets.iter().copied()) };
        let allowed = format!("module:function of this wheel, in group {GROUP}");
        let mend = "declare the function that loads the library: the runtime calls it at its first use";
        Findings::on(&path, list).add(Rule::EntryPoint, found, allowed, mend);
    }
}
