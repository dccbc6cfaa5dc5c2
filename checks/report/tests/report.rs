//! Reports that must be read, and those that must be refused.

use executorch_gate_report::{
    CHECKS, Check, Error, Known, Machine, Outcome, Report, Rules, SCHEMA, Verdict, Wheel,
};

fn check(id: &str, outcome: Outcome) -> Check {
    Check {
        id: id.into(),
        title: "it holds".into(),
        group: id.split('.').next().unwrap_or_default().into(),
        outcome,
        reason: if outcome == Outcome::Pass { String::new() } else { "because".into() },
        evidence: vec!["seen".into()],
        seconds: 0.5,
    }
}

fn report(checks: Vec<Check>, verdict: Verdict) -> Report {
    Report {
        schema: SCHEMA.into(),
        wheel: Wheel { filename: "a-1-py3-none-any.whl".into(), sha256: "0".repeat(64), size: 1 },
        row: "cpu".into(),
        image: "bookworm".into(),
        machine: Machine::default(),
        started: "2026-01-31T12:00:00Z".into(),
        seconds: 1.0,
        checks,
        verdict,
    }
}

fn rules(skips: &[&str], required: &[&str]) -> Rules {
    Rules {
        skips: skips.iter().map(|s| (*s).to_owned()).collect(),
        required: required.iter().map(|s| (*s).to_owned()).collect(),
        absent: Vec::new(),
    }
}

/// The field that the reader finds fault with.
fn fault(report: &Report, rules: &Rules) -> String {
    match Report::parse(report.to_json().expect("a report is JSON").as_bytes(), rules) {
        Err(Error::Forged { field, .. }) => field,
        other => format!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read_again() {
    let checks = vec![check("elf.a", Outcome::Pass), check("gpu.b", Outcome::Absent)];
    let report = report(checks, Verdict::Pass);
    let json = report.to_json().unwrap();
    let rules = Rules { absent: vec!["gpu.b".into()], ..Rules::default() };
    assert_eq!(Report::parse(json.as_bytes(), &rules).unwrap(), report);
    let counts = report.counts();
    assert_eq!((counts.passed, counts.failed, counts.skipped, counts.absent), (1, 0, 0, 1));
}

#[test]
fn the_verdict_follows_from_the_checks() {
    let pass = || check("elf.a", Outcome::Pass);
    let skip = || check("cpp.b", Outcome::Skip);
    let none = rules(&[], &[]);
    assert_eq!(none.verdict(&[pass()]), Verdict::Pass);
    assert_eq!(none.verdict(&[pass(), check("x.y", Outcome::Fail)]), Verdict::Fail);
    assert_eq!(none.verdict(&[pass(), skip()]), Verdict::Fail);
    for allowed in ["cpp.b", "cpp.*"] {
        assert_eq!(rules(&[allowed], &[]).verdict(&[pass(), skip()]), Verdict::Pass);
    }
    for other in ["cpp.c", "cp.*", "cpp", "*", ".*", "cpp.b.*"] {
        assert_eq!(rules(&[other], &[]).verdict(&[pass(), skip()]), Verdict::Fail, "{other}");
    }
}

#[test]
fn absent_and_nothing_are_no_pass() {
    assert_eq!(Rules::default().verdict(&[]), Verdict::Fail);
    assert_eq!(Rules::default().verdict(&[check("a.b", Outcome::Absent)]), Verdict::Fail);
    assert_eq!(rules(&["a.*"], &[]).verdict(&[check("a.b", Outcome::Skip)]), Verdict::Fail);
}

#[test]
fn what_is_required_must_be_there() {
    let required = rules(&["a.*"], &["a.b"]);
    let other = check("a.c", Outcome::Pass);
    assert_eq!(required.verdict(&[other.clone(), check("a.b", Outcome::Pass)]), Verdict::Pass);
    assert_eq!(required.verdict(&[other.clone(), check("a.b", Outcome::Skip)]), Verdict::Pass);
    assert_eq!(required.verdict(&[other.clone(), check("a.b", Outcome::Absent)]), Verdict::Fail);
    assert_eq!(required.verdict(std::slice::from_ref(&other)), Verdict::Fail);
    assert_eq!(required.faults(&[other]), ["a.b was left out of the report"]);
}

/// What the gate finds on a good wheel of a row with these components.
fn all(components: &[&str]) -> Vec<Check> {
    let outcome = |known: &Known| match known.parts {
        [] => Outcome::Pass,
        parts if parts.iter().any(|part| components.contains(part)) => Outcome::Pass,
        _ => Outcome::Absent,
    };
    CHECKS.iter().map(|known| check(known.id, outcome(known))).collect()
}

#[test]
fn every_check_of_the_gate_is_asked_for() {
    let of = |components: &[&str]| {
        Rules::of(
            &components.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
            vec!["python.*".into()],
        )
    };
    let (plain, cuda) = (["runtime", "python"], ["runtime", "python", "backend_cuda"]);
    assert_eq!(of(&plain).verdict(&all(&plain)), Verdict::Pass);
    assert_eq!(of(&cuda).verdict(&all(&cuda)), Verdict::Pass);
    // A part that the row ships may not be absent, nor any check that is about no part.
    assert_eq!(of(&cuda).verdict(&all(&plain)), Verdict::Fail);
    for place in 0..CHECKS.len() {
        let id = CHECKS[place].id;
        let mut checks = all(&plain);
        checks.remove(place);
        assert_eq!(of(&plain).faults(&checks), [format!("{id} was left out of the report")]);
        let mut checks = all(&plain);
        checks[place].outcome = Outcome::Absent;
        checks[place].reason = "because".into();
        assert_eq!(of(&plain).verdict(&checks) == Verdict::Pass, !CHECKS[place].parts.is_empty(), "{id}");
    }
    // One check that passed, all others left out.
    assert_eq!(of(&plain).verdict(&[check("elf.closure", Outcome::Pass)]), Verdict::Fail);
}

#[test]
fn a_changed_verdict_is_forged() {
    let failed = vec![check("elf.a", Outcome::Pass), check("elf.b", Outcome::Fail)];
    assert_eq!(fault(&report(failed, Verdict::Pass), &Rules::default()), "verdict");
    assert_eq!(
        fault(&report(vec![check("elf.a", Outcome::Pass)], Verdict::Fail), &Rules::default()),
        "verdict"
    );
    // A skip that the row does not allow, in a report that says it passed.
    let skipped = vec![check("elf.a", Outcome::Pass), check("cpp.b", Outcome::Skip)];
    assert_eq!(fault(&report(skipped, Verdict::Pass), &Rules::default()), "verdict");
}

#[test]
fn every_damaged_field_is_named() {
    type Damage = fn(&mut Report);
    let damages: [(&str, Damage); 10] = [
        ("schema", |r| r.schema = "executorch-gate-report/2".into()),
        ("wheel.sha256", |r| r.wheel.sha256 = "A".repeat(64)),
        ("wheel.filename", |r| r.wheel.filename = "../a.whl".into()),
        ("started", |r| r.started = "yesterday".into()),
        ("seconds", |r| r.seconds = -1.0),
        ("checks", |r| r.checks.push(check("elf.a", Outcome::Pass))),
        ("checks[\"elf.a\"].group", |r| r.checks[0].group = "python".into()),
        ("checks[\"elf.a\"].title", |r| r.checks[0].title.clear()),
        ("checks[\"elf.a\"].reason", |r| r.checks[0].evidence.clear()),
        ("checks[\"elf.a\"].reason", |r| r.checks[0].outcome = Outcome::Absent),
    ];
    for (field, damage) in damages {
        let mut damaged = report(vec![check("elf.a", Outcome::Pass)], Verdict::Pass);
        damage(&mut damaged);
        assert_eq!(fault(&damaged, &Rules::default()), field);
    }
}

#[test]
fn what_is_no_report_is_refused() {
    let json = report(vec![check("elf.a", Outcome::Pass)], Verdict::Pass).to_json().unwrap();
    let parse = |json: &str| Report::parse(json.as_bytes(), &Rules::default());
    assert!(matches!(parse(""), Err(Error::Form(_))));
    assert!(matches!(parse(&json[..json.len() / 2]), Err(Error::Form(_))));
    assert!(matches!(parse(&json.replacen("\"row\"", "\"raw\"", 1)), Err(Error::Form(_))));
    assert!(matches!(parse(&json.replacen("\"pass\"", "\"passed\"", 1)), Err(Error::Form(_))));
    let long = " ".repeat(executorch_gate_report::MAX_BYTES + 1);
    assert!(matches!(parse(&long), Err(Error::TooLarge(_))));
}
