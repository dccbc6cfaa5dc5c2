//! Several writers at once: none loses what another one wrote.

use std::sync::Barrier;

use super::*;
use crate::log::Log;

/// Each version is promoted by a thread of its own, with a store of its own as programs have. Then half of them are
/// yanked at once.
fn race(project: &Project, open: &(dyn Fn() -> Store + Sync)) {
    let versions: Vec<String> = (0..6).map(|number| format!("1.5.{number}")).collect();
    let names: Vec<String> = versions.iter().map(|version| project.stage(version)).collect();
    let work: Vec<_> =
        names.iter().map(|name| (name, project.reports(name), project.approvals(name))).collect();
    let start = Barrier::new(work.len());
    std::thread::scope(|scope| {
        for (name, reports, approvals) in &work {
            let start = &start;
            scope.spawn(move || {
                let store = open();
                start.wait();
                promote(&project.on(&store), "cpu", name, reports, approvals, &writer(), now()).unwrap();
            });
        }
    });
    assert_eq!(project.verify().unwrap().wheels, 6);
    std::thread::scope(|scope| {
        for name in names.iter().step_by(2) {
            scope.spawn(move || {
                let store = open();
                yank(&project.on(&store), "cpu", name, "bad", &owner(1), now()).unwrap();
            });
        }
    });
    let verified = project.verify().unwrap();
    assert_eq!((verified.head.number, verified.wheels, verified.live), (9, 6, 3));
    let log = Log::load(&project.store, "cpu", project.indexes.find("cpu").unwrap()).unwrap();
    assert_eq!(log.state().unwrap().pins().unwrap(), ["executorch-runtime==1.5.5"]);
}

#[test]
fn in_a_bucket() {
    let project = Project::new();
    race(&project, &|| super::open(&project.objects));
}

#[cfg(feature = "s3")]
#[test]
fn in_a_bucket_of_a_server() {
    let project = Project::over(crate::store::bucket::empty());
    race(&project, &|| super::open(&project.objects));
}

#[test]
fn in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let project = Project { store: Store::open(path).unwrap(), ..Project::new() };
    race(&project, &|| Store::open(path).unwrap());
}

#[test]
fn two_who_promote_the_same_wheel() {
    let project = Project::new();
    let name = project.stage("1.5.0");
    let (reports, approvals) = (project.reports(&name), project.approvals(&name));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = super::open(&project.objects);
                // One does it; the others find it done, or are told that it is.
                let result =
                    promote(&project.on(&store), "cpu", &name, &reports, &approvals, &writer(), now());
                if let Err(error) = result {
                    assert!(format!("{error:#}").contains("was promoted before"), "{error:#}");
                }
            });
        }
    });
    assert_eq!(project.verify().unwrap().head.number, 1);
}
