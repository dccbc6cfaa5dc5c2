//! `wheelhouse index` as the release machine calls it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use wheelhouse::archive::{self, Entry};

const FIRST: &str = "some_runtime-1.0-py3-none-any.whl";
const SECOND: &str = "some_runtime-1.1-py3-none-any.whl";

/// A folder with two wheels, both in staging.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, version) in [(FIRST, "1.0"), (SECOND, "1.1")] {
        let path = format!("some_runtime-{version}.dist-info/METADATA");
        let text = format!("Metadata-Version: 2.4\nName: some-runtime\nVersion: {version}\n");
        let bytes = archive::write(&[Entry { path, data: text.into_bytes(), executable: false }]).unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    done(folder.path(), &["add", "--row", "cpu", FIRST, SECOND]);
    folder
}

/// Runs `wheelhouse index` on the store `site` in the folder; gives what it prints, or the message that it fails with.
fn index(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let (command, rest) = arguments.split_first().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_wheelhouse"))
        .args(["index", command, "--store", "site"])
        .args(rest)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) -> String {
    index(folder, arguments).unwrap()
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], words: &[&str]) {
    let error = index(folder, arguments).unwrap_err();
    assert!(words.iter().all(|word| error.contains(word)), "{words:?} not all in: {error}");
}

#[test]
fn a_removed_wheel_is_listed_no_more_and_its_file_stays_until_it_is_pruned() {
    let place = place();
    let folder = place.path();
    let page = folder.join("site/staging/simple/some-runtime/index.html");
    let listed = |name: &str| fs::read_to_string(&page).unwrap().contains(name);
    assert!(listed(FIRST) && listed(SECOND));

    let written = done(folder, &["remove", FIRST, "--reason", "built from the wrong branch"]);
    assert!(written.contains("simple/some-runtime/index.html"), "{written}");
    assert!(!listed(FIRST) && listed(SECOND));
    let people = fs::read_to_string(folder.join("site/staging/index.html")).unwrap();
    assert!(people.contains("built from the wrong branch"));
    done(folder, &["check"]);

    let file = folder.join("site/staging").join(FIRST);
    assert_eq!(done(folder, &["prune"]), "");
    assert!(file.exists());
    let pruned = done(folder, &["prune", "--hours", "0"]);
    assert_eq!(pruned, format!("{FIRST}\n{FIRST}.metadata\n"));
    assert!(!file.exists() && folder.join("site/staging").join(SECOND).exists());
    done(folder, &["check"]);
}

#[test]
fn what_cannot_be_removed_is_refused_and_changes_nothing() {
    let place = place();
    let folder = place.path();
    let entries = || fs::read_to_string(folder.join("site/staging/entries.json")).unwrap();
    let before = entries();
    let other = "some_runtime-9-py3-none-any.whl";
    refused(folder, &["remove", other], &[other, "is not in `staging`"]);
    // All or nothing.
    refused(folder, &["remove", FIRST, other], &[other, "is not in `staging`"]);
    refused(folder, &["remove", FIRST, "--reason", "two\nlines"], &["one line"]);
    refused(folder, &["remove", FIRST, "--index", "cpu"], &["`cpu` is not `staging`", "wheelhouse yank"]);
    assert_eq!(entries(), before);
    done(folder, &["check"]);
}

#[test]
fn only_staging_takes_its_address_from_the_command() {
    let place = place();
    let folder = place.path();
    let address = "https://example.org/staging/";
    done(folder, &["render", "--url", address]);
    let page = fs::read_to_string(folder.join("site/staging/index.html")).unwrap();
    assert!(page.replace("&#x2f;", "/").contains(address), "{page}");
    refused(
        folder,
        &["render", "--index", "cpu", "--url", "https://example.org/cpu/"],
        &["`cpu` is not `staging`", "indexes.toml", "wheelhouse recover"],
    );
    assert!(!folder.join("site/cpu").exists());
}
