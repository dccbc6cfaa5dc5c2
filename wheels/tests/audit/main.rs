//! Each fault alone: a sound wheel, one change, and the rule that must object.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bench;
mod faults;

use bench::Bench;
use wheelhouse::audit::Rule;

#[test]
fn sound_wheels_pass() {
    for bench in [Bench::cpu(), Bench::cuda(&[(2, 80), (2, 90), (1, 90)]), Bench::delegate()] {
        assert_eq!(bench.audit(), [], "{}", bench.name);
    }
}

#[test]
fn each_fault_is_found_by_its_rule_and_no_other() {
    let mut failures = Vec::new();
    for fault in faults::all() {
        let mut bench = (fault.sound)();
        (fault.change)(&mut bench);
        let findings = bench.audit();
        let mut rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
        rules.dedup();
        if rules != fault.rules {
            failures.push(format!("{}: expected {:?}, found {findings:#?}", fault.name, fault.rules));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_rule_has_a_fault() {
    let faults = faults::all();
    let tested = |rule: &&Rule| faults.iter().any(|fault| fault.rules.contains(rule));
    let untested: Vec<&Rule> = Rule::ALL.iter().filter(|rule| !tested(rule)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn a_finding_says_what_to_do() {
    let mut bench = Bench::cpu();
    bench.add(
        bench::PLUGIN,
        bench::plugin(bench::REGISTERS, &[bench::PLUGIN_FLAGS, &["-Wl,-soname,other.so"]].concat()),
    );
    let findings = bench.audit();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.file, bench::PLUGIN);
    assert_eq!((finding.found.as_str(), finding.allowed.as_str()), ("other.so", "libplugin.so.1"));
    let json = serde_json::to_value(finding).unwrap();
    assert_eq!(json["rule"], "elf.soname");
    assert!(json["mend"].as_str().unwrap().contains("-soname,libplugin.so.1"));
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_refused() {
    let bench = Bench::delegate();
    let bytes = bench.pack();
    let components = wheelhouse::component::parse(bench::COMPONENTS).unwrap();
    let expected = wheelhouse::audit::Expected { row: None, components: &components };
    for end in (0..bytes.len()).step_by(97) {
        assert!(!wheelhouse::audit::wheel(&bench.name, &bytes[..end], &expected).is_empty(), "{end}");
    }
}

#[test]
fn no_changed_byte_makes_the_audit_fail_otherwise_than_by_findings() {
    let bench = Bench::delegate();
    let bytes = bench.pack();
    let components = wheelhouse::component::parse(bench::COMPONENTS).unwrap();
    let expected = wheelhouse::audit::Expected { row: None, components: &components };
    let mut unseen = 0;
    for at in (0..bytes.len()).step_by(41) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        unseen += usize::from(wheelhouse::audit::wheel(&bench.name, &changed, &expected).is_empty());
    }
    // Times, versions and modes of the archive's headers are free.
    assert!(unseen < bytes.len() / 41 / 4, "{unseen}");
}
