//! All checks, in the order in which they run.

mod absent;
mod cmake;
mod cpp;
mod custom;
mod elf;
mod install;
mod process;
mod python;

use crate::check::Check;

/// Every check of the gate.
pub fn all() -> Vec<Check> {
    let groups = [
        install::CHECKS,
        elf::CHECKS,
        python::CHECKS,
        cmake::CHECKS,
        cpp::CHECKS,
        custom::CHECKS,
        process::CHECKS,
        absent::CHECKS,
    ];
    groups.into_iter().flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_needs_come_first() {
        let mut seen = BTreeSet::new();
        for check in all() {
            assert!(check.id.split_once('.').is_some(), "{}", check.id);
            assert!(!check.title.is_empty() && !check.title.contains('|'), "{}", check.id);
            for need in check.needs {
                assert!(seen.contains(need), "{} needs {need}", check.id);
            }
            assert!(seen.insert(check.id), "{} twice", check.id);
        }
    }

    #[test]
    fn the_documented_list_is_current() {
        let text = include_str!("../../../../docs/gate.md");
        assert!(
            text.contains(&crate::table::list(&all())),
            "put the output of `executorch-gate list` into docs/gate.md"
        );
    }
}
