//! All checks, in the order in which they run.

mod absent;
mod cmake;
mod cpp;
mod cuda;
mod cuda_program;
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
        cuda::CHECKS,
        absent::LATER,
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

    /// Promotion asks for these.
    #[test]
    fn the_list_that_promotion_has_is_this_one() {
        let ids: Vec<_> = all().iter().map(|check| check.id).collect();
        let known: Vec<_> = executorch_gate_report::CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids, known, "checks/report/src/known.rs must list the gate's checks");
        // Only these know how to be absent.
        let groups = [absent::CHECKS, cuda::CHECKS, absent::LATER];
        let awaited: Vec<_> = groups.into_iter().flatten().map(|check| check.id).collect();
        let parts = executorch_gate_report::CHECKS.iter().filter(|check| !check.parts.is_empty());
        assert_eq!(awaited, parts.map(|check| check.id).collect::<Vec<_>>());
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
