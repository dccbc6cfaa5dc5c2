//! Extension modules use CPython's stable ABI only, as far as the Python floor has it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::finding::{Findings, Rule};
use super::{Library, Wheel, sorted};

/// Minor version of Python 3 that each symbol of the stable ABI is there from.
static STABLE: LazyLock<HashMap<&str, u32>> = LazyLock::new(|| {
    let lines = include_str!("abi3.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, minor)| Some((name, minor.parse().ok()?)))
        .collect()
});

pub(super) fn check(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    if !library.facts.extension_module() {
        return;
    }
    if !library.file_name().ends_with(".abi3.so") || wheel.name.tag.abi != "abi3" {
        let found = format!("{} in a wheel for ABI {}", library.file_name(), wheel.name.tag.abi);
        let mend = "build it with the limited API: one wheel for all Pythons";
        findings.add(Rule::Abi3, found, "a file *.abi3.so in a wheel for abi3", mend);
    }
    let floor =
        wheel.name.tag.python.strip_prefix("cp3").and_then(|minor| minor.parse().ok()).unwrap_or(u32::MAX);
    let unstable: Vec<&str> = library
        .facts
        .imports
        .iter()
        .map(|import| import.name.as_str())
        .filter(|name| name.starts_with("Py") || name.starts_with("_Py"))
        .filter(|name| STABLE.get(name).is_none_or(|minor| *minor > floor))
        .collect();
    if !unstable.is_empty() {
        let allowed = format!("symbols of the stable ABI up to {}", wheel.name.tag.python);
        let mend = "set Py_LIMITED_API (in PyO3, the feature abi3-py3XX) to the floor";
        findings.add(Rule::Abi3, sorted(unstable), allowed, mend);
    }
}

#[cfg(test)]
mod tests {
    use super::STABLE;

    #[test]
    fn the_table_is_read() {
        // From CPython's documentation: Stable ABI contents.
        assert_eq!(STABLE.get("PyLong_AsLong"), Some(&2));
        assert_eq!(STABLE.get("PyType_GetModuleState"), Some(&10));
        assert_eq!(STABLE.get("PyObject_GetBuffer"), Some(&11));
        assert_eq!(STABLE.get("PyUnicode_AsUTF8"), None);
        assert!(STABLE.len() > 900);
    }
}
