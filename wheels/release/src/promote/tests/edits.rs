//! What `verify` says of an index that somebody changed.

use super::*;

/// Verifies a good index with three entries after `change`.
#[track_caller]
fn finds(words: &[&str], change: impl FnOnce(&Project, &str)) {
    let project = Project::new();
    let filename = project.release("1.5.0");
    project.release("1.5.1");
    yank(&project.site(), "cpu", &filename, "old", &writer(), now()).unwrap();
    project.verify().unwrap();
    change(&project, &filename);
    refused(project.verify(), words);
}

/// Replaces text in a file.
fn edit(project: &Project, path: &str, from: &str, to: &str) {
    let text = project.text(path);
    assert!(text.contains(from), "{from} is not in {text}");
    project.store.put(path, text.replacen(from, to, 1)).unwrap();
}

const FIRST: &str = "cpu/log/00000001.json";
const SECOND: &str = "cpu/log/00000002.json";
const THIRD: &str = "cpu/log/00000003.json";

#[test]
fn a_log_that_was_cut_off() {
    finds(&["head.json", "cut off"], |project, _| project.store.delete(THIRD).unwrap());
    finds(&[THIRD, "expected cpu/log/00000002.json"], |project, _| project.store.delete(SECOND).unwrap());
    finds(&[SECOND, "expected cpu/log/00000001.json"], |project, _| project.store.delete(FIRST).unwrap());
    // With a head to match, the pages still tell.
    finds(&["the log makes something else"], |project, _| {
        let before = Project::new();
        before.release("1.5.0");
        before.release("1.5.1");
        project.store.delete(THIRD).unwrap();
        project.store.put("cpu/log/head.json", before.get("cpu/log/head.json")).unwrap();
    });
}

#[test]
fn a_log_that_was_reordered() {
    finds(&[FIRST, "expected 1, found 2", "reordered"], |project, _| {
        let (first, second) = (project.get(FIRST), project.get(SECOND));
        project.store.put(FIRST, second).unwrap();
        project.store.put(SECOND, first).unwrap();
    });
}

#[test]
fn a_log_that_was_edited() {
    finds(&[SECOND, "signature"], |project, _| edit(project, SECOND, "cuda.python", "cuda.perl"));
    finds(&[THIRD, "signature"], |project, _| edit(project, THIRD, "\"old\"", "\"new\""));
    finds(&[FIRST, "edited"], |project, _| edit(project, FIRST, "\"number\": 1", "\"number\":  1"));
    finds(&[FIRST, "edited"], |project, _| edit(project, FIRST, "\"number\"", "\"more\": 0,\n  \"number\""));
    finds(&[SECOND, "not a log entry"], |project, _| project.store.put(SECOND, "{}").unwrap());
    finds(&["cpu/log/note.txt"], |project, _| project.store.put("cpu/log/note.txt", "hello").unwrap());
    finds(&["cpu/log/00000003x.json"], |project, _| {
        project.store.put("cpu/log/00000003x.json", "{}").unwrap()
    });
    // An entry that a good key signs anew, so that the next no longer fits.
    finds(&[SECOND, "previous", "that entry was changed"], |project, _| {
        let mut entry = Entry::parse(&project.get(FIRST)).unwrap();
        entry.draft.time = "2026-03-01T11:00:00Z".into();
        let entry = entry.draft.sign(&writer()).unwrap();
        project.store.put(FIRST, entry.to_json().unwrap()).unwrap();
    });
    // The last one signed anew: only the head tells.
    finds(&["head.json", "rewritten"], |project, _| {
        let mut entry = Entry::parse(&project.get(THIRD)).unwrap();
        entry.draft.time = "2026-03-01T13:00:00Z".into();
        let entry = entry.draft.sign(&writer()).unwrap();
        project.store.put(THIRD, entry.to_json().unwrap()).unwrap();
    });
    // By somebody else.
    finds(&[THIRD, "trusted keys"], |project, _| {
        let entry = Entry::parse(&project.get(THIRD)).unwrap().draft.sign(&key(99)).unwrap();
        project.store.put(THIRD, entry.to_json().unwrap()).unwrap();
    });
}

#[test]
fn an_entry_of_another_log() {
    let mut other = Project::new();
    let text = indexes_toml().replace("index.cpu", "index.gpu");
    other.indexes = Indexes::parse(&text).unwrap();
    other.rows.get_mut("cpu").unwrap().index = "gpu".into();
    let filename = other.stage("1.5.0");
    let reports = other.reports(&filename);
    let approvals: Vec<_> = [1, 2]
        .map(|number| {
            let (json, _) =
                approve(&other.site(), "gpu", &filename, &reports, &owner(number), now(), WEEK).unwrap();
            ApprovalFile { name: number.to_string(), json: json.into() }
        })
        .to_vec();
    promote(&other.site(), "gpu", &filename, &reports, &approvals, &writer(), now()).unwrap();
    finds(&[FIRST, "an entry of `gpu`"], |project, _| {
        project.store.put(FIRST, other.get("gpu/log/00000001.json")).unwrap();
    });
}

#[test]
fn files_that_were_changed() {
    finds(&[".whl", "the wheel was changed"], |project, filename| {
        project.store.put(&format!("cpu/{filename}"), wheel_bytes("1.5.0", "evil")).unwrap();
    });
    finds(&[".whl", "is missing"], |project, filename| {
        project.store.delete(&format!("cpu/{filename}")).unwrap()
    });
    finds(&[".metadata", "not the metadata"], |project, filename| {
        project.store.put(&format!("cpu/{filename}.metadata"), "Name: x\n").unwrap();
    });
    finds(&[".intoto.json", "it was changed"], |project, filename| {
        let other = stated(filename, &wheel_bytes("1.5.0", "evil"), "cpu", false, &builder());
        project.store.put(&format!("cpu/{}", statement::signed_file_name(filename)), other).unwrap();
    });
    let page = "cpu/simple/executorch-runtime/index.html";
    finds(&[page, "edited", "wheelhouse recover"], |project, _| edit(project, page, "sha256=", "sha256=0"));
    finds(&["entries.json", "edited"], |project, _| {
        edit(project, "cpu/entries.json", "\"yanked\":\"old\"", "\"yanked\":\"new\"")
    });
    for name in ["pins.txt", "atom.xml", "advisories.json", "index.html", "simple/index.html"] {
        finds(&[name, "is missing"], |project, _| project.store.delete(&format!("cpu/{name}")).unwrap());
    }
    finds(&["cpu/simple/numpy/index.html", "delete it"], |project, _| {
        project.store.put("cpu/simple/numpy/index.html", "<a href=evil.whl>").unwrap();
    });
}

#[test]
fn evidence_that_was_changed() {
    let evidence = |project: &Project, holds: &str| -> String {
        let listed = project.store.list("cpu/evidence").unwrap();
        let found = listed.into_iter().map(|item| item.path).find(|path| project.text(path).contains(holds));
        found.unwrap()
    };
    for (holds, what) in [
        ("executorch-approval/1", "\"row\""),
        ("executorch-gate-report/1", "\"seconds\""),
        ("gate-report+json", "\"key\""),
    ] {
        finds(&["cpu/evidence/", "it was changed"], |project, _| {
            edit(project, &evidence(project, holds), what, &format!(" {what}"));
        });
        finds(&["cpu/evidence/", "is missing"], |project, _| {
            project.store.delete(&evidence(project, holds)).unwrap();
        });
    }
}
