//! The index as pip and uv see it, over HTTP and from a folder.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{Installer, Server, environment, publish, wheel};

const BOTH: [Installer; 2] = [Installer::Pip, Installer::Uv];

/// An index with a yanked newest version, and a decoy of the same name with a higher version.
fn site(root: &Path) {
    publish(
        root,
        "cpu",
        "demo-runtime",
        &[("1.0", None), ("1.1", None), ("1.2", Some("wrong \"results\" <b>"))],
    );
    publish(root, "cu126", "demo-runtime", &[("1.1+cu126", None)]);
    publish(root, "decoy", "demo-runtime", &[("9.0", None)]);
}

/// The option that names the only index.
fn only(installer: Installer) -> &'static str {
    if installer == Installer::Pip { "--index-url" } else { "--default-index" }
}

fn chooses(venv: &Path, base: &str) {
    let simple = |index: &str| format!("{base}{index}/simple/");
    let cpu = simple("cpu");
    for installer in BOTH {
        let index = only(installer);
        installer.expect(venv, "demo_runtime-1.1", &[index, &cpu, "demo-runtime"]);
        installer.expect(venv, "demo_runtime-1.0", &[index, &cpu, "demo-runtime==1.0"]);
        // A yanked version comes only to those who pin it, and they are told why.
        let told = installer.expect(venv, "demo_runtime-1.2", &[index, &cpu, "demo-runtime==1.2"]);
        assert!(told.contains("wrong \"results\" <b>"), "{installer:?}: {told}");
        installer.refuses(venv, &[index, &cpu, "demo-runtime>1.2"]);
        installer.expect(venv, "demo_runtime-1.1+cu126", &[index, &simple("cu126"), "Demo.Runtime==1.1"]);
    }
}

#[test]
fn installers_choose_what_they_should_over_http() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    let server = Server::plain(&venv, &root);
    chooses(&venv, &server.url);
    let log = server.log();
    assert!(!log.contains("\" 404 "), "{log}");
}

#[test]
fn installers_choose_what_they_should_by_json() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    let server = Server::negotiating(&venv, &root);
    chooses(&venv, &server.url);
    assert!(server.log().contains("/cpu/simple/demo-runtime/index.json"), "{}", server.log());
}

#[test]
fn installers_choose_what_they_should_from_a_folder() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    chooses(&venv, &format!("file://{}/", root.display()));
}

#[test]
fn a_newer_decoy_on_another_index_does_not_win() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    let server = Server::plain(&venv, &root);
    let (ours, decoy) = (format!("{}cu126/simple/", server.url), format!("{}decoy/simple/", server.url));
    let pip = ["--index-url", &ours, "--extra-index-url", &decoy];
    Installer::Pip.expect(
        &venv,
        "demo_runtime-1.1+cu126",
        &[&pip[..], &["demo-runtime==1.1+cu126"]].concat(),
    );
    Installer::Pip.expect(&venv, "demo_runtime-1.1+cu126", &[&pip[..], &["demo-runtime==1.1"]].concat());
    // Without a pin pip takes the decoy: that is why every install line of the page has one.
    Installer::Pip.expect(&venv, "demo_runtime-9.0", &[&pip[..], &["demo-runtime"]].concat());
    // uv keeps to the first index that has the project.
    let uv = ["--index", &ours, "--default-index", &decoy];
    Installer::Uv.expect(&venv, "demo_runtime-1.1+cu126", &[&uv[..], &["demo-runtime"]].concat());
}

#[test]
fn hashes_are_checked_and_a_damaged_wheel_is_refused() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    let server = Server::plain(&venv, &root);
    let index = format!("{}cpu/simple/", server.url);
    let requirements = |digest: &str| {
        let path = folder.path().join("requirements.txt");
        std::fs::write(&path, format!("demo-runtime==1.1 --hash=sha256:{digest}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let right = wheel("demo-runtime", "1.1").sha256();
    for installer in BOTH {
        let install = [only(installer), &index, "--require-hashes", "--requirement"];
        installer.expect(&venv, "demo_runtime-1.1", &[&install[..], &[&requirements(&right)]].concat());
        let told = installer.refuses(&venv, &[&install[..], &[&requirements(&"0".repeat(64))]].concat());
        assert!(told.to_lowercase().contains("hash"), "{told}");
    }

    let path = root.join("cpu/demo_runtime-1.1-py3-none-any.whl");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'x').unwrap() + 50;
    bytes[at] = b'y';
    std::fs::write(&path, bytes).unwrap();
    let told = Installer::Pip.refuses(&venv, &["--index-url", &index, "demo-runtime"]);
    assert!(told.contains("DO NOT MATCH THE HASHES"), "{told}");
    let install = ["--default-index", &index, "--require-hashes", "--requirement", &requirements(&right)];
    Installer::Uv.refuses(&venv, &install);
}

#[test]
fn metadata_is_read_without_the_wheel() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    for installer in BOTH {
        let server = Server::plain(&venv, &root);
        let index = format!("{}cpu/simple/", server.url);
        installer.refuses(&venv, &[only(installer), &index, "--dry-run", "demo-runtime"]);
        let log = server.log();
        assert!(log.contains("GET /cpu/demo_runtime-1.1-py3-none-any.whl.metadata"), "{installer:?}: {log}");
        assert!(!log.contains("none-any.whl HTTP"), "{installer:?}: {log}");
    }
}

#[test]
fn html_and_json_say_the_same_to_an_independent_reader() {
    let (venv, folder) = (environment(), tempfile::tempdir().unwrap());
    let root = folder.path().join("site");
    site(&root);
    publish(&root, "cpu", "Other.Project", &[("2.0", None)]);
    let server = Server::negotiating(&venv, &root);
    let output = Command::new(venv.join("bin/python"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/read.py"))
        .args([&format!("{}cpu/simple/", server.url), "demo-runtime"])
        .env("no_proxy", "127.0.0.1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (html, json) = (&said["html"], &said["json"]);
    assert_eq!(json["projects"], serde_json::json!(["demo-runtime", "other-project"]));
    assert_eq!(html["projects"], json["projects"]);
    assert_eq!((&html["version"], &json["version"]), (&Value::from("1.1"), &Value::from("1.1")));
    assert_eq!(json["versions"], serde_json::json!(["1.0", "1.1", "1.2"]));
    let (html, json) = (html["files"].as_array().unwrap(), json["files"].as_array().unwrap());
    assert_eq!((html.len(), json.len()), (3, 3));
    for (html, json) in html.iter().zip(json) {
        for key in ["filename", "url", "digests", "requires_python", "metadata", "yanked"] {
            assert_eq!(html[key], json[key], "{key}");
            assert!(key == "yanked" || !json[key].is_null(), "{key}");
        }
        assert_eq!(json["uploaded"], "2026-01-31T12:00:00+00:00");
        let file = root.join("cpu").join(json["filename"].as_str().unwrap());
        assert_eq!(json["size"], std::fs::metadata(file).unwrap().len());
    }
    assert_eq!(json[2]["yanked"], "wrong \"results\" <b>");
    assert_eq!(json[1]["yanked"], Value::Null);
}
