use object_store::memory::InMemory;

use super::*;

/// Buckets: a stand-in, which checks preconditions as S3 does, and, if the program can use one, a real one.
fn buckets() -> Vec<Arc<dyn ObjectStore>> {
    vec![
        Arc::new(InMemory::new()),
        #[cfg(feature = "s3")]
        bucket::empty(),
    ]
}

/// A folder and buckets.
fn everywhere(test: impl Fn(&Store)) {
    let folder = tempfile::tempdir().unwrap();
    test(&Store::open(folder.path().join("made/on the way").to_str().unwrap()).unwrap());
    for objects in buckets() {
        test(&Store::new(objects, None, "bucket").unwrap());
    }
}

#[test]
fn objects_are_written_read_listed_and_deleted() {
    everywhere(|store| {
        assert!(store.get("a/b+c.whl").unwrap().is_none());
        store.put("a/b+c.whl", "one").unwrap();
        store.put("a/b+c.whl", "two").unwrap();
        store.put("z", "").unwrap();
        assert_eq!(store.get("a/b+c.whl").unwrap().unwrap().bytes, "two");
        assert!(store.exists("z").unwrap() && !store.exists("y").unwrap());
        let paths =
            |prefix| store.list(prefix).unwrap().into_iter().map(|item| (item.path, item.size)).collect();
        let all: Vec<_> = paths("");
        assert_eq!(all, [("a/b+c.whl".to_owned(), 3), ("z".to_owned(), 0)]);
        let below: Vec<_> = paths("a");
        assert_eq!(below, [("a/b+c.whl".to_owned(), 3)]);
        store.delete("z").unwrap();
        store.delete("z").unwrap();
        assert!(!store.exists("z").unwrap());
    });
}

#[test]
fn a_writer_that_comes_late_is_told() {
    everywhere(|store| {
        store.create("x", "1").unwrap();
        assert!(matches!(store.create("x", "2"), Err(Error::Conflict { .. })));
        let first = store.get("x").unwrap().unwrap();
        store.replace("x", "3", &first.version).unwrap();
        assert!(matches!(store.replace("x", "4", &first.version), Err(Error::Conflict { .. })));
        assert_eq!(store.get("x").unwrap().unwrap().bytes, "3");
        let third = store.get("x").unwrap().unwrap();
        store.delete("x").unwrap();
        assert!(matches!(store.replace("x", "5", &third.version), Err(Error::Conflict { .. })));
        assert!(!store.exists("x").unwrap());
    });
}

#[test]
fn concurrent_updates_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    // Each writer has a store of its own, as programs have.
    let mut opens: Vec<Box<dyn Fn() -> Store + Sync>> = vec![Box::new(|| Store::open(path).unwrap())];
    for objects in buckets() {
        opens.push(Box::new(move || Store::new(Arc::clone(&objects), None, "bucket").unwrap()));
    }
    for open in opens {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let store = open();
                    for _ in 0..10 {
                        let written = store.update("counter", |bytes| {
                            let count = bytes.map_or(0, |bytes| bytes.len());
                            Ok::<_, Error>(Some(vec![b'x'; count + 1].into()))
                        });
                        assert!(written.unwrap());
                    }
                });
            }
        });
        assert_eq!(open().get("counter").unwrap().unwrap().bytes.len(), 40);
    }
}

#[test]
fn an_update_that_changes_nothing_writes_nothing() {
    everywhere(|store| {
        store.put("x", "1").unwrap();
        assert!(!store.update("x", |_| Ok::<_, Error>(None)).unwrap());
        let error = store.update("x", |_| Err(Error::Path { path: "mine".into() })).unwrap_err();
        assert!(error.to_string().contains("mine"));
        assert_eq!(store.get("x").unwrap().unwrap().bytes, "1");
    });
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    everywhere(|store| {
        for path in ["", "/a", "a//b", "../a", "a/../b", "./a", "a/", "a#1", "a\0b"] {
            assert!(matches!(store.put(path, "x"), Err(Error::Path { .. })), "{path:?}");
            assert!(store.get(path).is_err(), "{path:?}");
        }
    });
}

#[test]
fn other_locations_are_refused_with_what_is_expected() {
    for location in ["ftp://host/x", "file://host/x", "s3://", "s3://bucket/../x", ""] {
        let error = Store::open(location).unwrap_err().to_string();
        assert!(error.contains("expected"), "{location}: {error}");
    }
}

#[test]
fn what_a_killed_writer_leaves_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    std::fs::write(folder.path().join("page.html#1"), "half").unwrap();
    store.put("page.html", "whole").unwrap();
    let paths: Vec<_> = store.list("").unwrap().into_iter().map(|item| item.path).collect();
    assert_eq!(paths, ["page.html"]);
}
