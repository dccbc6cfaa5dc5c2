//! Commands that end after each single write.

use wheelhouse::digest::sha256;

use super::*;
use crate::log::Log;
use crate::store::fault::{At, Fault};

/// What an installer sees: the links of the project's page, each of which must lead to the file with its digest.
fn seen(project: &Project) -> Vec<String> {
    let page = project.store.get("cpu/simple/executorch-runtime/index.html").unwrap();
    let page = page.map_or_else(String::new, |page| String::from_utf8(page.bytes.to_vec()).unwrap());
    let anchors: Vec<String> = page.lines().filter(|line| line.contains("<a ")).map(str::to_owned).collect();
    for anchor in &anchors {
        let target = anchor.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let (path, digest) = target.split_once("#sha256=").unwrap();
        let bytes = project.get(&format!("cpu/{}", path.trim_start_matches("../../")));
        assert_eq!(sha256(&bytes), digest, "{anchor}");
    }
    anchors
}

/// A store over the project's objects that ends at write number `write`, counted from 0.
fn ending(project: &Project, write: usize, at: At) -> Store {
    open(&(Fault::new(Arc::clone(&project.objects), write, at) as Arc<dyn ObjectStore>))
}

fn policy(project: &Project) -> &Policy {
    project.indexes.find("cpu").unwrap()
}

/// Runs `command` so that it ends before, or right after, its first write, its second, … until it succeeds. After each
/// end the index is as before or as after for an installer, and can be brought to one of them for everybody.
fn ends(prepare: impl Fn(&Project), command: impl Fn(&Project, &Site<'_>) -> Result<()>) {
    ends_in(Project::new, prepare, command);
}

/// The same in places that `new` makes.
fn ends_in(
    new: impl Fn() -> Project,
    prepare: impl Fn(&Project),
    command: impl Fn(&Project, &Site<'_>) -> Result<()>,
) {
    let whole = new();
    prepare(&whole);
    let before = seen(&whole);
    command(&whole, &whole.site()).unwrap();
    let (after, mut ended) = (seen(&whole), [0, 0]);
    assert_ne!(before, after);
    for case in 0.. {
        let at = if case % 2 == 0 { At::KilledBefore } else { At::KilledAfter };
        let project = new();
        prepare(&project);
        let start = Log::load(&project.store, "cpu", policy(&project)).unwrap().len();
        if command(&project, &project.on(&ending(&project, case / 2, at))).is_ok() {
            assert!(ended[0] > 0 && ended[1] > 0, "{ended:?}");
            return;
        }
        let found = seen(&project);
        assert!(found == before || found == after, "case {case}: {found:?}");
        let log = settle(&project.store, "cpu", policy(&project)).unwrap();
        let happened = log.len() > start;
        assert_eq!(&seen(&project), if happened { &after } else { &before }, "case {case}");
        ended[usize::from(happened)] += 1;
        if log.len() > 0 {
            project.verify().unwrap();
        }
        if !happened {
            command(&project, &project.site()).unwrap();
        }
        assert_eq!(seen(&project), after, "case {case}");
        project.verify().unwrap();
    }
}

fn again(project: &Project, site: &Site<'_>, filename: &str) -> Result<()> {
    let (reports, approvals) = (project.reports(filename), project.approvals(filename));
    promote(site, "cpu", filename, &reports, &approvals, &writer(), now()).map(drop)
}

const FIRST: &str = "executorch_runtime-1.5.0-cp310-abi3-manylinux_2_28_x86_64.whl";
const SECOND: &str = "executorch_runtime-1.5.1-cp310-abi3-manylinux_2_28_x86_64.whl";

#[test]
fn the_first_promotion() {
    ends(|project| drop(project.stage("1.5.0")), |project, site| again(project, site, FIRST));
}

#[cfg(feature = "s3")]
#[test]
fn the_first_promotion_in_a_bucket_of_a_server() {
    ends_in(
        || Project::over(crate::store::bucket::empty()),
        |project| drop(project.stage("1.5.0")),
        |project, site| again(project, site, FIRST),
    );
}

#[test]
fn a_later_promotion() {
    let prepare = |project: &Project| {
        project.release("1.5.0");
        project.stage("1.5.1");
    };
    ends(prepare, |project, site| again(project, site, SECOND));
}

#[test]
fn a_yank() {
    let prepare = |project: &Project| drop(project.release("1.5.0"));
    ends(prepare, |_, site| yank(site, "cpu", FIRST, "bad", &writer(), now()).map(drop));
}

#[test]
fn a_rollback() {
    let prepare = |project: &Project| drop(["1.5.0", "1.5.1"].map(|version| project.release(version)));
    ends(prepare, |_, site| rollback(site, "cpu", None, "bad", false, &writer(), now()).map(drop));
}

#[test]
fn repeating_an_interrupted_promotion_completes_it() {
    for write in 0..40 {
        let project = Project::new();
        project.stage("1.5.0");
        let ended = again(&project, &project.on(&ending(&project, write, At::KilledAfter)), FIRST).is_err();
        again(&project, &project.site(), FIRST).unwrap();
        assert_eq!(project.verify().unwrap().head.number, 1);
        if !ended {
            return;
        }
    }
    panic!("a promotion takes more than 40 writes");
}

#[test]
fn another_writer_between_any_two_writes_loses_nothing() {
    for write in 0..40 {
        let project = Arc::new(Project::new());
        project.release("1.5.0");
        project.stage("1.5.1");
        let other = Arc::clone(&project);
        let act = move || drop(yank(&other.site(), "cpu", FIRST, "bad", &owner(1), now()));
        let store = ending(&project, write, At::Meanwhile(Arc::new(act)));
        again(&project, &project.on(&store), SECOND).unwrap();
        let log = Log::load(&project.store, "cpu", policy(&project)).unwrap();
        let verified = project.verify().unwrap();
        if log.len() == 2 {
            assert!(write > 10, "{write}");
            return;
        }
        assert_eq!((log.len(), verified.wheels, verified.live), (3, 2, 1), "write {write}");
    }
    panic!("a promotion takes more than 40 writes");
}

#[test]
fn verify_says_that_a_command_was_interrupted() {
    let project = Project::new();
    let filename = project.release("1.5.0");
    let store = ending(&project, 0, At::KilledAfter);
    yank(&project.on(&store), "cpu", &filename, "bad", &writer(), now()).unwrap_err();
    refused(project.verify(), &["interrupted", "wheelhouse recover --index cpu"]);
}
