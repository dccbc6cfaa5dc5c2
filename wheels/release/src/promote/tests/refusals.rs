//! Promotions that must not happen. After each, the index does not even exist.

use super::*;

/// Promotes a good case changed by `change`, which must be refused for the reason given.
#[track_caller]
fn refuses(
    words: &[&str],
    change: impl FnOnce(&Project, &str, &mut Vec<ReportFile>, &mut Vec<ApprovalFile>),
) {
    let project = Project::new();
    let filename = project.stage("1.5.0");
    let (mut reports, mut approvals) = (project.reports(&filename), project.approvals(&filename));
    change(&project, &filename, &mut reports, &mut approvals);
    refused(project.promote(&filename, &reports, &approvals), words);
    assert_eq!(project.store.list("cpu").unwrap(), [], "a refused promotion leaves nothing behind");
}

#[test]
fn a_good_case_is_promoted_and_verified() {
    let project = Project::new();
    let filename = project.release("1.5.0");
    let verified = project.verify().unwrap();
    assert_eq!((verified.head.number, verified.wheels, verified.live), (1, 1, 1));
    assert!(verified.leftovers.is_empty());
    assert!(project.text("cpu/simple/executorch-runtime/index.html").contains(&filename));
    let record = project.text("cpu/log/00000001.json");
    for word in [
        "\"number\": 1",
        "\"action\": \"promote\"",
        "cuda.python",
        "not built yet",
        "\"approval\"",
        "ann",
        "bob",
    ] {
        assert!(record.contains(word), "{word} is not in {record}");
    }
    // The very same again changes nothing.
    let again = project.promote(&filename, &project.reports(&filename), &[]).unwrap();
    assert_eq!(again.draft.number, 1);
}

#[test]
fn missing_reports() {
    refuses(&["no report", "on new", "cargo xtask gate cpu"], |_, _, reports, _| drop(reports.pop()));
    refuses(&["no report", "on old, new"], |_, _, reports, _| reports.clear());
}

#[test]
fn reports_that_did_not_pass() {
    refuses(&["did not pass", "elf.closure (libfoo)"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        change(&mut report, "elf.closure", Outcome::Fail, "libfoo");
        report.verdict = Verdict::Fail;
        reports[1] = signed(&report);
    });
    refuses(
        &["did not pass", "gpu.run was skipped, which the row does not allow"],
        |project, filename, reports, _| {
            let mut report = project.report(filename, "new");
            report.checks.push(check("gpu.run", Outcome::Skip, "no GPU"));
            report.verdict = Verdict::Fail;
            reports[1] = signed(&report);
        },
    );
}

#[test]
fn a_skip_that_the_row_allows_is_shown_in_the_record() {
    let project = Project::new();
    let filename = project.stage("1.5.0");
    let with_skip = |image: &str| {
        let mut report = project.report(&filename, image);
        change(&mut report, "python.import", Outcome::Skip, "Python is too old");
        signed(&report)
    };
    let absent = CHECKS.iter().filter(|known| !known.parts.is_empty()).count();
    let reports = [with_skip("old"), signed(&project.report(&filename, "new"))];
    let approvals = [1, 2].map(|number| {
        let (json, judged) =
            approve(&project.site(), "cpu", &filename, &reports, &owner(number), now(), WEEK).unwrap();
        assert_eq!((judged.skipped.len(), judged.absent.len()), (1, 2 * absent));
        ApprovalFile { name: number.to_string(), json: json.into() }
    });
    project.promote(&filename, &reports, &approvals).unwrap();
    project.verify().unwrap();
    assert!(project.text("cpu/log/00000001.json").contains("Python is too old"));
    assert!(project.text("cpu/atom.xml").contains("Skipped on old: python.import"));
    // On another image it is not allowed: a report that passes with it is forged.
    let other = project.stage("1.5.1");
    let mut report = project.report(&other, "new");
    change(&mut report, "python.import", Outcome::Skip, "Python is too old");
    refused(project.promote(&other, &[signed(&report)], &[]), &["forged", "verdict"]);
}

#[test]
fn forged_reports() {
    refuses(&["forged", "verdict"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        change(&mut report, "elf.closure", Outcome::Fail, "libfoo");
        reports[1] = signed(&report);
    });
    refuses(&["not signed", "REPORT.sig"], |_, _, reports, _| reports[0].signature = None);
    refuses(&["not signed by a gate"], |_, _, reports, _| {
        let forged = Signature::new(&owner(1), REPORT_TYPE, &reports[0].json).to_json();
        reports[0].signature = Some(forged.into());
    });
    refuses(&["signature", "type"], |_, _, reports, _| {
        let other = Signature::new(&gate(), "application/json", &reports[0].json).to_json();
        reports[0].signature = Some(other.into());
    });
    refuses(&["changed"], |_, _, reports, _| {
        let edited = String::from_utf8(reports[0].json.to_vec())
            .unwrap()
            .replace("\"seconds\": 1.5", "\"seconds\": 2.5");
        reports[0].json = edited.into();
    });
}

#[test]
fn reports_from_which_checks_were_left_out() {
    // All but one that passed.
    let only = |project: &Project, filename: &str, verdict| {
        let mut report = project.report(filename, "new");
        report.checks.retain(|check| check.id == "elf.closure");
        report.verdict = verdict;
        signed(&report)
    };
    refuses(&["forged", "verdict"], |project, filename, reports, _| {
        reports[1] = only(project, filename, Verdict::Pass);
    });
    refuses(
        &["did not pass", "install.machine was left out of the report", "more"],
        |project, filename, reports, _| reports[1] = only(project, filename, Verdict::Fail),
    );
    refuses(&["did not pass", "process.late_delegate was left out"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        report.checks.retain(|check| check.id != "process.late_delegate");
        report.verdict = Verdict::Fail;
        reports[1] = signed(&report);
    });
    // What every wheel has cannot be absent.
    refuses(&["did not pass", "elf.owners is absent"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        change(&mut report, "elf.owners", Outcome::Absent, "not built yet");
        report.verdict = Verdict::Fail;
        reports[1] = signed(&report);
    });
    // Nor can what its row ships.
    let mut project = Project::new();
    let filename = project.stage("1.5.0");
    let reports = project.reports(&filename);
    project.rows.get_mut("cpu").unwrap().components = vec!["etdump".into()];
    refused(project.promote(&filename, &reports, &[]), &["forged", "verdict"]);
}

/// Replaces the statement of a wheel in staging.
fn state(project: &Project, filename: &str, text: String) {
    project.store.put(&format!("staging/{}", statement::signed_file_name(filename)), text).unwrap();
}

#[test]
fn missing_and_forged_statements() {
    let without = |project: &Project| {
        let staging = Index::new(&project.store, "staging").unwrap();
        let take = |catalogue: &mut index::Catalogue| {
            catalogue.entries[0].provenance = None;
            Ok(())
        };
        staging.change(take).unwrap();
    };
    refuses(&["no statement", "wheelhouse provenance sign", "--provenance"], |project, _, _, _| {
        without(project)
    });
    // Nobody else's word counts, nor a statement on something else.
    let bytes = wheel_bytes("1.5.0", "content");
    let other = wheel_bytes("1.5.0", "other content");
    for key in [owner(1), writer(), gate(), key(99)] {
        refuses(&["not signed by a builder"], |project, filename, _, _| {
            state(project, filename, stated(filename, &bytes, "cpu", false, &key));
        });
    }
    refuses(&["sha256", "expected"], |project, filename, _, _| {
        state(project, filename, stated(filename, &other, "cpu", false, &builder()));
    });
    refuses(&["row is `gpu`, expected `cpu`"], |project, filename, _, _| {
        state(project, filename, stated(filename, &bytes, "gpu", false, &builder()));
    });
    refuses(&["name is `other.whl`"], |project, filename, _, _| {
        state(project, filename, stated("other.whl", &bytes, "cpu", false, &builder()));
    });
    refuses(&["not built from a commit alone"], |project, filename, _, _| {
        state(project, filename, stated(filename, &bytes, "cpu", true, &builder()));
    });
    refuses(&["DSSE envelope"], |project, filename, _, _| state(project, filename, "{}".to_owned()));
    // The signature of another statement.
    refuses(&["not signed by a builder", "does not verify"], |project, filename, _, _| {
        let [good, bad] = [(&bytes, false), (&bytes, true)].map(|(bytes, modified)| {
            let text = stated(filename, bytes, "cpu", modified, &builder());
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        });
        let mut forged = good.clone();
        forged["payload"] = bad["payload"].clone();
        state(project, filename, forged.to_string());
    });
    // A name that another wheel has a right to.
    refuses(&["some-2.0-py3-none-any.whl", "is called"], |project, _, _, _| {
        let staging = Index::new(&project.store, "staging").unwrap();
        let rename = |catalogue: &mut index::Catalogue| {
            catalogue.entries[0].provenance = Some("some-2.0-py3-none-any.whl".into());
            Ok(())
        };
        staging.change(rename).unwrap();
    });
    // Owners do not approve what could not be promoted.
    let project = Project::new();
    let filename = project.stage("1.5.0");
    without(&project);
    refused(approve_with(&project, &filename, &project.reports(&filename)), &["no statement"]);
}

#[test]
fn changed_sources_are_taken_where_the_index_says_so() {
    let mut project = Project::new();
    project.indexes.index.get_mut("cpu").unwrap().modified = true;
    let filename = project.stage("1.5.0");
    let bytes = wheel_bytes("1.5.0", "content");
    state(&project, &filename, stated(&filename, &bytes, "cpu", true, &builder()));
    project.promote(&filename, &project.reports(&filename), &project.approvals(&filename)).unwrap();
    project.verify().unwrap();
    project.indexes.index.get_mut("cpu").unwrap().modified = false;
    refused(project.verify(), &["cpu/log/00000001.json", "not built from a commit alone"]);
}

#[test]
fn a_wheel_that_fails_its_audit() {
    let project = Project::new();
    let mut files = archive::read(&wheel_bytes("1.5.0", "content")).unwrap();
    let path = "executorch_runtime/more.py".to_owned();
    files.push(File { path, data: b"import os".to_vec(), executable: false });
    let filename = project.stage_bytes("1.5.0", "cpu", archive::write(&files).unwrap());
    let reports = project.reports(&filename);
    let words = ["fails the audit", "wheel.record", "more.py", "wheelhouse audit"];
    refused(approve_with(&project, &filename, &reports), &words);
    refused(project.promote(&filename, &reports, &[]), &words);
    assert_eq!(project.store.list("cpu").unwrap(), []);
}

#[test]
fn reports_of_something_else() {
    refuses(&["about other-1", "not about"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        report.wheel.filename = "other-1.whl".into();
        reports[1] = signed(&report);
    });
    refuses(&["row `gpu`"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        report.row = "gpu".into();
        reports[1] = signed(&report);
    });
    refuses(&["image `here`", "does not name"], |project, filename, reports, _| {
        reports.push(signed(&project.report(filename, "here")));
    });
    refuses(&["both for image new"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        report.seconds = 9.0;
        reports.push(signed(&report));
    });
}

#[test]
fn a_wheel_that_was_changed_after_the_gate() {
    // Somebody replaces file and list in staging by another build of the same name.
    let change = |project: &Project, filename: &str| {
        project.unstage(filename);
        project.stage_as("1.5.0", "cpu", "other content");
    };
    refuses(&["changed after the gate"], |project, filename, _, _| change(project, filename));
    // Only the file.
    refuses(&["changed since"], |project, filename, _, _| {
        let other = wheel_bytes("1.5.0", "evil");
        project.store.put(&format!("staging/{filename}"), other).unwrap();
    });
    // New reports do not make the old approvals fit.
    refuses(&["approves another promotion", "sha256 of the wheel"], |project, filename, reports, _| {
        change(project, filename);
        *reports = project.reports(filename);
    });
}

#[test]
fn missing_approvals() {
    refuses(&["2 owners", "there are 1", "wheelhouse approve"], |_, _, _, approvals| drop(approvals.pop()));
    refuses(&["2 owners", "there are 0"], |_, _, _, approvals| approvals.clear());
}

#[test]
fn one_owner_counts_once() {
    refuses(&["both by `ann`", "counts once"], |project, filename, _, approvals| {
        approvals[1] = project.approval(filename, 1);
    });
}

#[test]
fn approvals_of_something_else() {
    refuses(
        &["approves another promotion", "expected `executorch_runtime-1.5.0"],
        |project, _, _, approvals| {
            let other = project.stage("1.5.1");
            *approvals = project.approvals(&other);
        },
    );
    refuses(&["approves another promotion", "index"], |_, _, _, approvals| {
        edit(approvals, "\"index\": \"cpu\"", "\"index\": \"gpu\"")
    });
    // A report that the owner has not seen.
    refuses(&["approves another promotion", "reports"], |project, filename, reports, _| {
        let mut report = project.report(filename, "new");
        report.seconds = 9.0;
        reports[1] = signed(&report);
    });
}

#[test]
fn approvals_with_wrong_signatures() {
    refuses(&["not signed by an owner", "not one of the 3 trusted keys"], |_, _, _, approvals| {
        let old = owner(2).public().to_string();
        edit(approvals, &old, &key(9).public().to_string());
    });
    // Signed by another owner than it says.
    refuses(&["does not verify"], |_, _, _, approvals| {
        edit(approvals, &owner(2).public().to_string(), &owner(3).public().to_string());
    });
    // Prolonged.
    refuses(&["changed"], |_, _, _, approvals| edit(approvals, "2026-03-08", "2026-05-08"));
    // Something added.
    refuses(&["edited"], |_, _, _, approvals| edit(approvals, "\"row\"", "\"more\": 1,\n  \"row\""));
}

#[test]
fn expired_approvals() {
    let project = Project::new();
    let filename = project.stage("1.5.0");
    let (reports, approvals) = (project.reports(&filename), project.approvals(&filename));
    let at = |time| promote(&project.site(), "cpu", &filename, &reports, &approvals, &writer(), time);
    refused(
        at(now() + WEEK + Duration::from_secs(1)),
        &["expired at 2026-03-08T12:00:00Z", "wheelhouse approve"],
    );
    at(now() + WEEK).unwrap();
}

#[test]
fn keys_without_the_right() {
    let project = Project::new();
    let filename = project.stage("1.5.0");
    let (reports, approvals) = (project.reports(&filename), project.approvals(&filename));
    let with = |key| promote(&project.site(), "cpu", &filename, &reports, &approvals, &key, now());
    refused(with(gate()), &["may not write the log"]);
    refused(with(key(99)), &["may not write the log"]);
    let approve = |key| approve(&project.site(), "cpu", &filename, &reports, &key, now(), WEEK);
    refused(approve(writer()), &["not the key of an owner"]);
    // An owner does not approve what could not be promoted.
    let early = approve_with(&project, &filename, &reports[..1]);
    refused(early, &["no report"]);
}

fn approve_with(project: &Project, filename: &str, reports: &[ReportFile]) -> Result<(Vec<u8>, Judged)> {
    approve(&project.site(), "cpu", filename, reports, &owner(1), now(), WEEK)
}

#[test]
fn wheels_that_are_not_for_the_index() {
    let project = Project::new();
    let filename = project.stage("1.5.0");
    let (reports, approvals) = (project.reports(&filename), project.approvals(&filename));
    refused(
        promote(&project.site(), "gpu", &filename, &reports, &approvals, &writer(), now()),
        &["no index `gpu`", "cpu"],
    );
    refused(project.promote("missing-1.whl", &reports, &approvals), &["no `missing-1.whl`", &filename]);
    // A label that the row does not have, whatever staging says.
    let labelled = project.stage("1.5.0+cu126");
    refused(project.promote(&labelled, &project.reports(&labelled), &[]), &["version label"]);
    // A wheel of another project than the row's.
    let mut other = Project::new();
    other.rows.get_mut("cpu").unwrap().project = "another-runtime".into();
    let filename = other.stage("1.5.0");
    refused(
        other.promote(&filename, &other.reports(&filename), &[]),
        &["row `cpu`", "of another-runtime", "a wheel of executorch-runtime"],
    );
    let mut unpublished = Project::new();
    unpublished.rows.get_mut("cpu").unwrap().publish = false;
    let filename = unpublished.stage("1.5.0");
    refused(unpublished.promote(&filename, &[], &[]), &["may not be published"]);
}

#[test]
fn a_name_stands_for_one_wheel() {
    let project = Project::new();
    let filename = project.release("1.5.0");
    project.unstage(&filename);
    project.stage_as("1.5.0", "cpu", "another build");
    let reports = project.reports(&filename);
    refused(project.promote(&filename, &reports, &[]), &["stands for one wheel", "new version"]);
    project.verify().unwrap();
}

/// Edits the second approval.
fn edit(approvals: &mut [ApprovalFile], from: &str, to: &str) {
    let text = String::from_utf8(approvals[1].json.to_vec()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    approvals[1].json = text.replacen(from, to, 1).into();
}
