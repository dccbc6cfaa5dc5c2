//! Writers that are killed, and writers that meet.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;

use super::wheel::tests::zipped;
use super::*;
use crate::store::Store;
use crate::store::fault::{At, Fault};

const TIME: &str = "2026-01-31T12:00:00Z";

fn wheel(project: &str, version: &str) -> Wheel {
    let stem = format!("{}-{version}", project.replace('-', "_"));
    let metadata =
        format!("Metadata-Version: 2.4\nName: {project}\nVersion: {version}\nRequires-Python: >=3.9\n");
    let bytes = zipped(&[(&format!("{stem}.dist-info/METADATA"), &metadata)]);
    Wheel::read(&format!("{stem}-py3-none-any.whl"), bytes).unwrap()
}

fn add(index: &Index<'_>, wheel: &Wheel) -> anyhow::Result<()> {
    index.put_files(wheel, None)?;
    index.change(|catalogue| catalogue.insert(wheel.entry("cpu", TIME, Vec::new()))).map(drop)
}

fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

fn open(objects: &Arc<dyn ObjectStore>) -> Store {
    Store::new(Arc::clone(objects), None, "memory").unwrap()
}

/// An index with two wheels of two projects.
fn start(objects: &Arc<dyn ObjectStore>) {
    let store = open(objects);
    let index = Index::new(&store, "cpu").unwrap();
    add(&index, &wheel("one", "1.0")).unwrap();
    add(&index, &wheel("two", "1.0+cu126")).unwrap();
}

/// Every change that an index knows, with a new project and one that loses its only wheel.
fn change(store: &Store) -> anyhow::Result<()> {
    let index = Index::new(store, "cpu")?;
    let wheels = [wheel("one", "1.1"), wheel("three", "1.0")];
    for wheel in &wheels {
        index.put_files(wheel, Some((&format!("{}.statement.json", wheel.filename()), b"{}")))?;
    }
    index.change(|catalogue| {
        for wheel in &wheels {
            let mut entry = wheel.entry("cpu", TIME, Vec::new());
            entry.provenance = Some(format!("{}.statement.json", wheel.filename()));
            catalogue.insert(entry)?;
        }
        if catalogue.entry("two-1.0+cu126-py3-none-any.whl").is_some() {
            catalogue.remove("two-1.0+cu126-py3-none-any.whl", TIME, "made by mistake")?;
            catalogue.yank("one-1.0-py3-none-any.whl", TIME, "wrong results")?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The pages of the index as they lie there.
fn pages(store: &Store) -> BTreeMap<String, Vec<u8>> {
    let pages = Index::new(store, "cpu").unwrap().pages().unwrap();
    pages.into_iter().map(|(name, object)| (name, object.bytes.to_vec())).collect()
}

#[test]
fn a_program_killed_at_any_write_leaves_the_index_as_before_or_as_after() {
    let (old, new) = (memory(), memory());
    start(&old);
    start(&new);
    change(&open(&new)).unwrap();
    let (old, new) = (open(&old), open(&new));
    let (pages_before, pages_after) = (pages(&old), pages(&new));
    let catalogue = |store: &Store| Index::new(store, "cpu").unwrap().catalogue().unwrap();
    let (before, after) = (catalogue(&old), catalogue(&new));
    assert_ne!(before, after);

    let mut writes = 0;
    let mut seen = [0, 0];
    loop {
        let mut reached = false;
        for at in [At::KilledBefore, At::KilledAfter] {
            let objects = memory();
            start(&objects);
            let fault = Fault::new(Arc::clone(&objects), writes, at);
            let broken = Store::new(Arc::clone(&fault) as Arc<dyn ObjectStore>, None, "fault").unwrap();
            let result = change(&broken);
            assert_eq!(result.is_err(), fault.reached());
            reached |= fault.reached();

            let store = open(&objects);
            let index = Index::new(&store, "cpu").unwrap();
            let now = index.catalogue().unwrap();
            assert!(now == before || now == after, "write {writes}");
            seen[usize::from(now == after)] += 1;
            for (name, page) in pages(&store) {
                let is_before = pages_before.get(&name) == Some(&page);
                let is_after = now == after && pages_after.get(&name) == Some(&page);
                assert!(is_before || is_after, "write {writes}: {name}");
                for link in String::from_utf8(page).unwrap().split("../../").skip(1) {
                    let file = link.split(['#', '"']).next().unwrap().replace("%2B", "+");
                    assert!(
                        index.file(&file).unwrap().is_some(),
                        "write {writes}: {name} leads to no {file}"
                    );
                }
            }
            // The next command mends the pages, and the same change can be made again.
            index.render().unwrap();
            assert_eq!(index.check().unwrap().faults, Vec::<String>::new(), "write {writes}");
            change(&store).unwrap();
            assert_eq!(
                (catalogue(&store).entries, pages(&store).len()),
                (after.entries.clone(), pages_after.len())
            );
        }
        if !reached {
            break;
        }
        writes += 1;
    }
    assert!(writes >= 15 && seen[0] > 5 && seen[1] > 5, "{writes} writes, {seen:?}");
}

#[test]
fn another_writer_at_any_write_loses_nothing() {
    for write in 0.. {
        let objects = memory();
        start(&objects);
        let others = Arc::clone(&objects);
        let act = move || add(&Index::new(&open(&others), "cpu").unwrap(), &wheel("one", "9.0")).unwrap();
        let fault = Fault::new(Arc::clone(&objects), write, At::Meanwhile(Arc::new(act)));
        change(&Store::new(Arc::clone(&fault) as Arc<dyn ObjectStore>, None, "fault").unwrap()).unwrap();
        if !fault.reached() {
            assert!(write >= 15);
            break;
        }
        let store = open(&objects);
        let index = Index::new(&store, "cpu").unwrap();
        let names: Vec<_> = index
            .catalogue()
            .unwrap()
            .entries
            .iter()
            .map(|e| format!("{} {}", e.project, e.version))
            .collect();
        assert_eq!(names, ["one 1.0", "one 1.1", "one 9.0", "three 1.0"], "write {write}");
        assert_eq!(index.check().unwrap().faults, Vec::<String>::new(), "write {write}");
    }
}

#[test]
fn concurrent_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || {
                let store = Store::open(path).unwrap();
                let index = Index::new(&store, "staging").unwrap();
                for number in 0..6 {
                    add(&index, &wheel("one", &format!("{writer}.{number}"))).unwrap();
                }
            });
        }
    });
    let store = Store::open(path).unwrap();
    let index = Index::new(&store, "staging").unwrap();
    assert_eq!(index.catalogue().unwrap().entries.len(), 18);
    assert_eq!(index.check().unwrap(), Findings::default());
}

#[test]
fn a_name_never_changes_its_content() {
    let objects = memory();
    start(&objects);
    let store = open(&objects);
    let index = Index::new(&store, "cpu").unwrap();
    let first = wheel("one", "1.0");
    let metadata = "Metadata-Version: 2.4\nName: one\nVersion: 1.0\nSummary: other\n";
    let second = Wheel::read(first.filename(), zipped(&[("one-1.0.dist-info/METADATA", metadata)])).unwrap();
    let error = format!("{:#}", index.put_files(&second, None).unwrap_err());
    assert!(error.contains("never changes its content"), "{error}");
    let result = index.change(|catalogue| catalogue.insert(second.entry("cpu", TIME, Vec::new())));
    assert!(format!("{:#}", result.unwrap_err()).contains("new version"));
    assert_eq!(index.check().unwrap().faults, Vec::<String>::new());
}

#[test]
fn check_finds_each_fault() {
    let (name, page) = ("one-1.0-py3-none-any.whl", "simple/one/index.html");
    for (path, bytes, message) in [
        (name, None, "the file is missing"),
        (name, Some(wheel("one", "1.0").bytes().slice(..80)), "not a zip archive"),
        ("one-1.0-py3-none-any.whl.metadata", None, ".metadata file is missing"),
        ("one-1.0-py3-none-any.whl.metadata", Some("x".into()), "SHA-256 of its .metadata file"),
        (page, None, "simple/one/index.html: is missing"),
        (page, Some("x".into()), "is not what the entries say"),
        ("index.html", Some("x".into()), "is not what the entries say"),
    ] {
        let objects = memory();
        start(&objects);
        let store = open(&objects);
        match bytes {
            Some(bytes) => store.put(&format!("cpu/{path}"), bytes).unwrap(),
            None => store.delete(&format!("cpu/{path}")).unwrap(),
        }
        let index = Index::new(&store, "cpu").unwrap();
        let faults = index.check().unwrap().faults.join("\n");
        assert!(faults.contains(message), "{message} not in: {faults}");
        if path.ends_with(".html") {
            index.render().unwrap();
            assert_eq!(index.check().unwrap(), Findings::default());
        }
    }
}

#[test]
fn only_old_files_without_an_entry_are_pruned() {
    let objects = memory();
    start(&objects);
    let store = open(&objects);
    let index = Index::new(&store, "cpu").unwrap();
    index.put_files(&wheel("one", "7.0"), None).unwrap();
    let leftovers = ["one-7.0-py3-none-any.whl", "one-7.0-py3-none-any.whl.metadata"];
    assert_eq!(index.check().unwrap().leftovers, leftovers);
    let hour = std::time::Duration::from_secs(3600);
    assert!(index.prune(hour).unwrap().is_empty());
    assert_eq!(index.prune(std::time::Duration::ZERO).unwrap(), leftovers);
    assert_eq!(index.check().unwrap(), Findings::default());
}

#[test]
fn a_list_that_breaks_a_rule_is_refused() {
    let mut sound = Catalogue::new("cpu");
    sound.insert(wheel("one", "1.0").entry("cpu", TIME, Vec::new())).unwrap();
    let text = String::from_utf8(sound.json().unwrap()).unwrap();
    assert_eq!(Catalogue::parse(text.as_bytes(), "cpu").unwrap(), sound);
    for (from, to, message) in [
        ("\"cpu\"", "\"cu126\"", "of the index `cu126`"),
        ("executorch-index/1", "executorch-index/2", "knows"),
        ("one-1.0-py3-none-any.whl", "../one-1.0-py3-none-any.whl", "file name"),
        ("one-1.0-py3-none-any.whl", "one-1.1-py3-none-any.whl", "does not fit"),
        ("\"project\":\"one\"", "\"project\":\"two\"", "does not fit"),
        ("\"sha256\":\"", "\"sha256\":\"A", "64 lower-case"),
        ("12:00:00Z", "12:00:00+01:00", "RFC 3339 in UTC"),
        ("\"size\":", "\"unknown\":1,\"size\":", "not the list of an index"),
        (">=3.9", "three", "requires_python"),
        ("\"url\":null", "\"url\":\"https://host/?q/\"", "not the address"),
        ("\"row\":\"cpu\"", "\"row\":\"<b>\"", "row `<b>`"),
    ] {
        let changed = text.replacen(from, to, if from == "\"cpu\"" { 1 } else { usize::MAX });
        assert_ne!(changed, text, "{from}");
        let error = format!("{:#}", Catalogue::parse(changed.as_bytes(), "cpu").unwrap_err());
        assert!(error.contains(message), "{message} not in: {error}");
    }
}
