//! Yank, rollback, and what users are told.

use super::*;
use crate::log::{Action, Head};

#[test]
fn a_yank_is_told_with_its_reason() {
    let project = Project::new();
    let (first, second) = (project.release("1.5.0"), project.release("1.5.1"));
    yank(&project.site(), "cpu", &second, "wrong results", &writer(), now()).unwrap();
    assert_eq!(project.verify().unwrap().live, 1);
    let page = project.text("cpu/simple/executorch-runtime/index.html");
    assert!(page.contains("data-yanked=\"wrong results\""), "{page}");
    assert!(project.text("cpu/pins.txt").ends_with("\nexecutorch-runtime==1.5.0\n"));
    let advisories: serde_json::Value = serde_json::from_slice(&project.get("cpu/advisories.json")).unwrap();
    assert_eq!(advisories["advisories"][0]["affected"][0]["filename"], second.as_str());
    assert_eq!(advisories["advisories"][0]["reason"], "wrong results");
    assert_eq!(advisories["advisories"][0]["instead"][0], "executorch-runtime==1.5.0");
    let feed = atom_syndication::Feed::read_from(&project.get("cpu/atom.xml")[..]).unwrap();
    assert_eq!(feed.entries.len(), 3);
    assert!(feed.entries[0].title.value.contains("wrong results"));
    assert!(feed.entries[2].title.value.contains("1.5.0"));

    refused(
        yank(&project.site(), "cpu", &second, "again", &writer(), now()),
        &["yanked already", "wrong results"],
    );
    refused(yank(&project.site(), "cpu", "other.whl", "x", &writer(), now()), &["not in the index", &first]);
    refused(yank(&project.site(), "cpu", &first, " ", &writer(), now()), &["--reason"]);
    refused(yank(&project.site(), "cpu", &first, "a\nb", &writer(), now()), &["one line"]);
    refused(yank(&project.site(), "cpu", &first, "x", &gate(), now()), &["may not write"]);
    // What was taken back does not come in again by the old approvals.
    let again = project.promote(&second, &project.reports(&second), &project.approvals(&second));
    refused(again, &["was taken back (wrong results)"]);
}

#[test]
fn a_rollback_restores_the_last_good_set() {
    let project = Project::new();
    let names = ["1.5.0", "1.5.1", "1.5.2"].map(|version| project.release(version));
    let (entry, rollback) =
        super::rollback(&project.site(), "cpu", None, "crashes", false, &writer(), now()).unwrap();
    assert_eq!((entry.draft.number, rollback.to), (4, 2));
    assert_eq!(rollback.taken_back, [names[2].clone()]);
    assert_eq!(rollback.pins, ["executorch-runtime==1.5.1"]);
    assert!(project.text("cpu/pins.txt").contains("==1.5.1"));
    project.verify().unwrap();

    // The set before that, by number; the yank of 1.5.0 meanwhile stands.
    yank(&project.site(), "cpu", &names[0], "leak", &writer(), now()).unwrap();
    let to_first =
        |restore, key| super::rollback(&project.site(), "cpu", Some(1), "worse", restore, &key, now());
    refused(to_first(false, writer()), &["no wheel of executorch-runtime would be left", "--restore-yanked"]);
    refused(to_first(true, writer()), &["for an owner"]);
    let (_, rollback) = to_first(true, owner(1)).unwrap();
    assert_eq!((&rollback.taken_back[..], &rollback.restored[..]), (&names[1..2], &names[..1]));
    assert_eq!(rollback.pins, ["executorch-runtime==1.5.0"]);
    assert_eq!(project.verify().unwrap().live, 1);
    let advisories: serde_json::Value = serde_json::from_slice(&project.get("cpu/advisories.json")).unwrap();
    let in_force: Vec<_> = advisories["advisories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|advisory| advisory["affected"][0]["in_force"].as_bool().unwrap())
        .collect();
    assert_eq!(in_force, [true, false, true]);
}

#[test]
fn rollbacks_that_make_no_sense() {
    let project = Project::new();
    let back = |to| super::rollback(&project.site(), "cpu", to, "x", false, &writer(), now());
    refused(back(None), &["no wheel"]);
    project.release("1.5.0");
    refused(back(None), &["no set after entry 0", "use `yank`"]);
    refused(back(Some(1)), &["nothing to take back"]);
    refused(back(Some(7)), &["no set after entry 7"]);
    project.verify().unwrap();
}

#[test]
fn notices_tell_everything_in_order() {
    let project = Project::new();
    project.release("1.5.0");
    project.release("1.5.1");
    super::rollback(&project.site(), "cpu", None, "crashes", false, &writer(), now()).unwrap();
    let log = settle(&project.store, "cpu", project.indexes.find("cpu").unwrap()).unwrap();
    let notices = notices(&log).unwrap();
    let kinds: Vec<_> = notices.iter().map(|notice| (notice.number, notice.kind)).collect();
    assert_eq!(kinds, [(1, "promote"), (2, "promote"), (3, "rollback")]);
    let passed = CHECKS.iter().filter(|known| known.parts.is_empty()).count();
    assert!(notices[0].details.contains(&format!("Tried on old: {passed} checks passed")));
    assert!(notices[2].details.contains("Install instead: executorch-runtime==1.5.0"), "{:?}", notices[2]);
    assert!(matches!(log.entries()[2].draft.action, Action::Rollback(_)));
}

#[test]
fn a_remembered_head_tells_that_everything_was_set_back() {
    let project = Project::new();
    project.release("1.5.0");
    let before: Vec<_> = project.store.list("cpu").unwrap().into_iter().map(|item| item.path).collect();
    let before: Vec<_> = before.into_iter().map(|path| (project.get(&path), path)).collect();
    project.release("1.5.1");
    let head = project.verify().unwrap().head;
    for item in project.store.list("cpu").unwrap() {
        project.store.delete(&item.path).unwrap();
    }
    for (bytes, path) in before {
        project.store.put(&path, bytes).unwrap();
    }
    project.verify().unwrap();
    let remembered = |head: &Head| verify(&project.store, &project.indexes, "cpu", Some(head));
    refused(remembered(&head), &["ends with entry 1", "had entry 2"]);
    refused(remembered(&Head { number: 1, ..head }), &["rewritten"]);
}
