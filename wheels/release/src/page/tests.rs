use crate::index::{Action, Catalogue, Change, Entry, GateResult};

fn entry(version: &str, row: &str) -> Entry {
    Entry {
        filename: format!("some_runtime-{version}-cp310-abi3-manylinux_2_28_x86_64.whl"),
        project: "some-runtime".into(),
        version: version.into(),
        sha256: "ab".repeat(32),
        size: 4_123_331,
        requires_python: Some(">=3.10".into()),
        upload_time: "2026-01-31T12:00:00Z".into(),
        metadata_sha256: "cd".repeat(32),
        yanked: None,
        row: row.into(),
        gate: Vec::new(),
        provenance: None,
    }
}

fn page(entries: Vec<Entry>) -> String {
    super::render(&Catalogue { entries, ..Catalogue::new("cpu") }).unwrap()
}

/// The part of the page between its heading `id` and the next section.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let from = page.find(&format!("<h2 id=\"{id}\"")).unwrap();
    &page[from..from + page[from..].find("</section>").unwrap()]
}

#[test]
fn every_text_is_escaped() {
    let hostile = "x\"'><script>alert(1)</script>&";
    let gate = GateResult {
        image: hostile.into(),
        report_sha256: hostile.into(),
        passed: 1,
        failed: 0,
        skipped: 0,
        absent: 0,
    };
    let entry = Entry {
        filename: hostile.into(),
        project: hostile.into(),
        version: hostile.into(),
        sha256: hostile.into(),
        requires_python: Some(hostile.into()),
        upload_time: hostile.into(),
        row: hostile.into(),
        gate: vec![gate],
        provenance: Some(hostile.into()),
        ..entry("1.0", "cpu")
    };
    let yanked = Entry { yanked: Some(hostile.into()), ..entry.clone() };
    let change =
        |action| Change { time: hostile.into(), action, filename: hostile.into(), reason: hostile.into() };
    let catalogue = Catalogue {
        index: hostile.into(),
        url: Some(hostile.into()),
        entries: vec![entry, yanked],
        changes: vec![change(Action::Added), change(Action::Yanked)],
        ..Catalogue::new("cpu")
    };
    let page = super::render(&catalogue).unwrap();
    assert!(page.matches("alert(1)").count() > 20);
    assert!(!page.contains("<script") && !page.contains("x\"") && !page.contains("x'"));
}

#[test]
fn the_newest_release_that_is_not_yanked_is_pinned() {
    let versions = ["1.9.0", "1.10.0", "1.11.0rc1", "1.11.0"];
    let mut entries: Vec<Entry> = versions.map(|version| entry(version, "cpu")).into();
    entries[3].yanked = Some("wrong results".into());
    let page = page(entries);
    assert!(section(&page, "install").contains("some-runtime==1.10.0&quot;"));
    assert!(!section(&page, "install").contains("1.11.0"));
    assert!(section(&page, "yanked").contains("wrong results"));
    assert_eq!(section(&page, "releases").matches("Current").count(), 1);
    assert_eq!(section(&page, "releases").matches("! Yanked").count(), 1);
}

#[test]
fn rows_of_one_version_share_install_lines_and_other_versions_have_their_own() {
    let entries = vec![entry("1.0", "cpu"), entry("1.0", "cpu-aarch64"), entry("1.0+cu126", "cu126")];
    let page = page(entries);
    let install = section(&page, "install");
    assert_eq!(install.matches("<h3>").count(), 2);
    assert_eq!(install.matches("--hash=sha256:").count(), 3);
    assert!(install.contains("some-runtime==1.0+cu126"));
}

#[test]
fn the_gate_is_told_for_each_machine() {
    let result = |image: &str, failed| GateResult {
        image: image.into(),
        report_sha256: "12".repeat(32),
        passed: 41,
        failed,
        skipped: 2,
        absent: 3,
    };
    let good = Entry { gate: vec![result("bullseye", 0), result("sid", 0)], ..entry("1.0", "cpu") };
    let bad = Entry { gate: vec![result("bookworm", 1), result("sid", 0)], ..entry("1.1", "other") };
    let page = page(vec![good, bad, entry("1.2", "untried")]);
    let gate = section(&page, "gate");
    assert_eq!(gate.matches("✓ Passed").count(), 3);
    assert_eq!(gate.matches("✗ Failed").count(), 1);
    assert!(gate.contains("bullseye") && gate.contains("bookworm"));
    let releases = section(&page, "releases");
    for text in ["on 2 machines, 4 skipped, 6 not built", "on 1 of 2 machines", "Not run"] {
        assert!(releases.contains(text), "{text}");
    }
}

#[test]
fn a_long_list_is_cut_and_an_empty_one_says_so() {
    let many = (0..100).map(|number| entry(&format!("1.0.{number}"), "cpu")).collect();
    let page = page(many);
    assert!(section(&page, "releases").contains("60 older wheels"));
    let empty = super::render(&Catalogue::new("cpu")).unwrap();
    assert!(section(&empty, "install").contains("no wheel to install"));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page(vec![entry("1.0", "cpu")]);
    for loads in ["src=", "<link", "@import", "url(", "<script", "onclick"] {
        assert!(!page.contains(loads), "{loads}");
    }
}
