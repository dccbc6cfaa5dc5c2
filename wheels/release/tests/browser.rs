//! The page for people, in Chromium. `SCREENSHOTS=folder` keeps the pictures.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use executorch_tools::Tools;
use serde_json::Value;
use wheelhouse_release::index::{Action, Catalogue, Change, Entry, GateResult};

const X86: &str = "manylinux_2_28_x86_64";

fn entry(version: &str, row: &str, platform: &str, day: &str) -> Entry {
    let gate = |image: &str, failed, absent| GateResult {
        image: image.into(),
        report_sha256: "3fb0c2d1770a".repeat(6).chars().take(64).collect(),
        passed: 61 - failed,
        failed,
        skipped: 2,
        absent,
    };
    let absent = if version == "1.5.2" { 0 } else { 3 };
    let failed = u32::from(version == "1.5.0");
    Entry {
        filename: format!("executorch_runtime-{version}-cp310-abi3-{platform}.whl"),
        project: "executorch-runtime".into(),
        version: version.into(),
        sha256: "4f9ac2d1770b83e5".repeat(4),
        size: if platform == X86 { 4_123_331 } else { 3_981_204 },
        requires_python: Some(">=3.10".into()),
        upload_time: format!("{day}T12:00:00Z"),
        metadata_sha256: "0123456789abcdef".repeat(4),
        yanked: None,
        row: row.into(),
        gate: vec![gate("bullseye", 0, absent), gate("bookworm", failed, absent), gate("sid", 0, absent)],
        provenance: None,
    }
}

fn catalogue() -> Catalogue {
    let reason = "Wrong results of grouped convolutions on processors without AVX-512: use 1.5.2";
    let arm = "manylinux_2_28_aarch64";
    let mut yanked = entry("1.5.1", "cpu", X86, "2026-11-14");
    yanked.yanked = Some(reason.into());
    let mut entries = vec![
        entry("1.5.0", "cpu", X86, "2026-10-30"),
        yanked,
        entry("1.5.2", "cpu", X86, "2026-11-28"),
        entry("1.5.2", "cpu-aarch64", arm, "2026-11-28"),
    ];
    entries[2].provenance = Some(format!("{}.statement.json", entries[2].filename));
    let change = |day: &str, action, filename: &str, reason: &str| Change {
        time: format!("{day}T12:00:00Z"),
        action,
        filename: filename.into(),
        reason: reason.into(),
    };
    let changes = vec![
        change("2026-11-14", Action::Added, &entries[1].filename, ""),
        change("2026-11-27", Action::Yanked, &entries[1].filename, reason),
        change("2026-11-28", Action::Added, &entries[2].filename, ""),
    ];
    let url = Some("https://wheels.example.org/cpu/".to_owned());
    Catalogue { url, entries, changes, ..Catalogue::new("cpu") }
}

/// Chromium, from Debian if it is not there; or why there is none.
fn chromium() -> Result<PathBuf, String> {
    let places = ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell"].map(Path::new);
    let find = || places.iter().find(|path| path.exists()).map(|path| path.to_path_buf());
    if let Some(path) = find() {
        return Ok(path);
    }
    executorch_tools::apt(&["chromium"]).map_err(|error| format!("{error:#}"))?;
    find().ok_or_else(|| "the package chromium has no /usr/bin/chromium".into())
}

#[test]
fn the_page_is_sound_in_a_browser() {
    let chromium = match chromium() {
        Ok(path) => path,
        Err(reason) => {
            // Past the capture of tests' output: nobody shall take this for a pass.
            writeln!(std::io::stderr(), "SKIPPED the_page_is_sound_in_a_browser: no Chromium: {reason}")
                .unwrap();
            return;
        }
    };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let needs = ["playwright==1.65.2", "axe-playwright-python==0.1.8"];
    let venv = Tools::new(target.join("tools")).venv("browser", &needs).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("index.html");
    let mut catalogue = catalogue();
    catalogue.settle().unwrap();
    std::fs::write(&page, wheelhouse_release::page::render(&catalogue).unwrap()).unwrap();

    let url = format!("file://{}", page.display());
    let shots = std::env::var_os("SCREENSHOTS").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    let output = Command::new(venv.join("bin/python"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/browse.py"))
        .arg(chromium)
        .args([&url, shots.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let views: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(views.as_object().unwrap().len(), 4);
    for (name, view) in views.as_object().unwrap() {
        assert_eq!(view["problems"], serde_json::json!([]), "{name}: messages on the console");
        assert_eq!(view["axe"], serde_json::json!([]), "{name}: accessibility");
        assert_eq!(view["requests"], serde_json::json!([url]), "{name}: the page loads something");
        assert!(
            view["overflow"].as_f64().unwrap() < 1.0,
            "{name}: wider than the window by {}",
            view["overflow"]
        );
        let text = view["text"].as_str().unwrap();
        for shown in ["executorch-runtime==1.5.2", "4.12 MB", "on 1 of 3 machines", "use 1.5.2", "! Yanked"] {
            assert!(text.contains(shown), "{name}: no `{shown}` in:\n{text}");
        }
        let outline = view["outline"].as_str().unwrap();
        for part in [
            "banner",
            "main",
            "contentinfo",
            "navigation \"On this page\"",
            "columnheader",
            "rowheader",
            "region",
        ] {
            let part = format!("- {part}");
            assert!(
                outline.contains(&part) || name.starts_with("phone"),
                "{name}: no `{part}` in:\n{outline}"
            );
        }
    }
}
