//! Which libraries there are, and whether each is what it should be.

use super::finding::{Finding, Findings, Rule};
use super::{Library, Wheel};
use crate::component::Components;
use crate::row::Row;

/// Components that are declared but not built have no wheels.
pub(super) fn built(file_name: &str, row: &Row, components: &Components, list: &mut Vec<Finding>) {
    let unbuilt = row.unbuilt(components);
    if !unbuilt.is_empty() {
        let mend = "build the crate, and take `built = false` away in components.toml";
        let found = format!("{} of row {}, not built", unbuilt.join(", "), row.name);
        Findings::on(file_name, list).add(Rule::Unbuilt, found, "components that are built", mend);
    }
}

/// The wheel's libraries are exactly the row's components.
pub(super) fn components(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    let Some(row) = wheel.row() else { return };
    for (name, _, path) in wheel.components().filter(|(_, _, path)| !wheel.has(path)) {
        let allowed = format!("component `{name}` of row {}", row.name);
        Findings::on(&path, list).add(
            Rule::Missing,
            "no such file",
            allowed,
            "pack it, or take it out of the row",
        );
    }
    for library in wheel.libraries.iter().filter(|library| library.component.is_none()) {
        let allowed = format!("components of row {}: {}", row.name, row.components.join(", "));
        let mend = "declare it in components.toml and rows.toml, or leave it out";
        Findings::on(&library.path, list).add(Rule::Unexpected, "a library of no component", allowed, mend);
    }
}

pub(super) fn check(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    let facts = &library.facts;
    if let Some(platform) = wheel.platform.filter(|platform| platform.system.machine() != facts.machine) {
        let (found, allowed) = (format!("e_machine {}", facts.machine), platform.system.machine());
        let allowed = format!("{allowed}, which is {}", platform.system.arch());
        findings.add(Rule::Machine, found, allowed, "build it for the machine of the tag");
    }
    soname(library, findings);
    if facts.executable_stack || facts.text_relocations {
        let found = match (facts.executable_stack, facts.text_relocations) {
            (true, false) => "an executable stack",
            (false, _) => "relocations in code",
            (true, true) => "an executable stack and relocations in code",
        };
        let mend = "compile with -fPIC, and mark assembly files with .note.GNU-stack";
        findings.add(Rule::Hardening, found, "neither", mend);
    }
    let Some((_, component)) = library.component else { return };
    let strange: Vec<&str> =
        facts.exports.iter().map(String::as_str).filter(|symbol| !component.exports.allows(symbol)).collect();
    if let [first, ..] = strange.as_slice() {
        let found = format!("{} symbols, such as `{first}`", strange.len());
        let script = component.exports.version_script();
        findings.add(
            Rule::Exports,
            found,
            format!("what wheels/{script} names"),
            "link with that version script",
        );
    }
    if facts.nodelete == component.unload {
        let state = |nodelete: bool| if nodelete { "NODELETE" } else { "no NODELETE" };
        let mend =
            "threads and the registry may point into it: link with -z nodelete where components.toml says so";
        findings.add(Rule::Unload, state(facts.nodelete), state(!component.unload), mend);
    }
    // The C compiler's and Rust's libraries bring one initialiser of their own.
    if component.registers && facts.initializers < 2 {
        let mend = "the object with the registration was dropped: reference it, or link it whole";
        findings.add(Rule::Registers, "no initialiser of its own in .init_array", "one that registers", mend);
    }
}

fn soname(library: &Library<'_>, findings: &mut Findings<'_>) {
    let found = library.facts.soname.as_deref();
    let module = match library.component {
        Some((_, component)) => component.soname().is_none(),
        None => library.facts.extension_module(),
    };
    let sound = match found {
        Some(found) => found == library.file_name(),
        None => module,
    };
    if !sound {
        let mend = format!(
            "link with -soname,{}: programs record this name, and the loader looks for it",
            library.file_name()
        );
        findings.add(Rule::Soname, found.unwrap_or("none"), library.file_name(), mend);
    }
}
