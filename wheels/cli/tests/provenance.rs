//! `wheelhouse provenance` as users call it: made, signed, verified, and refused after any change.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use wheelhouse::archive::{self, Entry};
use wheelhouse::provenance::inventory::Inventory;
use wheelhouse::provenance::parts::Toolchain;
use wheelhouse::provenance::sbom;
use wheelhouse_release::sign::PrivateKey;

const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";
const BUILDER: &str = "https://example.org/builder";

/// A folder with a wheel, a toolchain and a key.
struct Place {
    dir: TempDir,
    public: String,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let subject = sbom::Subject { name: "a", version: "1", license: "MIT", glibc: "2.28" };
        let nothing = Inventory { items: BTreeMap::new(), linked: BTreeMap::new(), texts: BTreeMap::new() };
        let data = sbom::render(&subject, &nothing, &[]).unwrap().into_bytes();
        let path = format!("a-1.dist-info/sboms/{}", sbom::FILE);
        let wheel = archive::write(&[Entry { path, data, executable: false }]).unwrap();
        fs::write(dir.path().join("a-1-py3-none-any.whl"), wheel).unwrap();
        let tools = BTreeMap::from([("rustc".to_owned(), "rustc 1.95.0".to_owned())]);
        Toolchain { tools, linked: Vec::new() }.save(dir.path()).unwrap();
        let key = PrivateKey::from_seed(&[3; 32]);
        key.save(&dir.path().join("key")).unwrap();
        Self { dir, public: key.public().to_string() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn wheel(&self) -> PathBuf {
        self.path("a-1-py3-none-any.whl")
    }

    fn call(&self, action: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wheelhouse"));
        command.args(["provenance", action]).arg(self.wheel()).args(arguments).output().unwrap()
    }

    fn make(&self, more: &[&str]) {
        let libs = self.dir.path().to_string_lossy().into_owned();
        let arguments =
            [&["--row", "cpu", "--libs", &libs, "--revision", REVISION, "--builder", BUILDER], more].concat();
        succeeded(&self.call("make", &arguments));
    }

    fn sign(&self, more: &[&str]) -> Output {
        let key = self.path("key").to_string_lossy().into_owned();
        self.call("sign", &[&["--key", &key], more].concat())
    }

    fn verify(&self, more: &[&str]) -> Output {
        self.call("verify", &[&["--key", &self.public], more].concat())
    }
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, word: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(word), "{word}: {error}");
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_signed_statement_is_verified_and_shown() {
    let place = Place::new();
    place.make(&[]);
    succeeded(&place.sign(&[]));
    let text = succeeded(&place.verify(&["--row", "cpu", "--revision", REVISION, "--builder", BUILDER]));
    for line in [&format!("source: {REVISION}\n"), "row: cpu\n", "rustc: rustc 1.95.0\n"] {
        assert!(text.contains(line), "{line}{text}");
    }
    refused(&place.verify(&["--row", "cu126"]), "row is `cpu`, expected `cu126`");
    let other = PrivateKey::from_seed(&[4; 32]).public().to_string();
    refused(&place.call("verify", &["--key", &other]), "names one of the 1 trusted keys");
    refused(&place.call("verify", &[]), "--key");
}

#[test]
fn what_was_changed_is_refused() {
    let place = Place::new();
    place.make(&[]);
    succeeded(&place.sign(&[]));
    let signed = place.path("a-1-py3-none-any.whl.intoto.json");
    let good = fs::read_to_string(&signed).unwrap();
    let statement = place.path("a-1-py3-none-any.whl.provenance.json");

    // The statement says something else, and comes with the old signature.
    replace(&statement, "\"cpu\"", "\"cu126\"");
    succeeded(&place.sign(&[]));
    let changed: serde_json::Value = serde_json::from_str(&fs::read_to_string(&signed).unwrap()).unwrap();
    let mut forged: serde_json::Value = serde_json::from_str(&good).unwrap();
    forged["payload"] = changed["payload"].clone();
    fs::write(&signed, forged.to_string()).unwrap();
    refused(&place.verify(&[]), "does not verify");

    fs::write(&signed, &good).unwrap();
    succeeded(&place.verify(&[]));
    let mut wheel = fs::read(place.wheel()).unwrap();
    wheel.push(0);
    fs::write(place.wheel(), wheel).unwrap();
    refused(&place.verify(&[]), "sha256");
    refused(&place.sign(&[]), "sha256");
    fs::remove_file(&signed).unwrap();
    refused(&place.verify(&[]), "intoto.json");
}

#[test]
fn changed_sources_are_only_signed_and_accepted_on_request() {
    let place = Place::new();
    place.make(&["--modified"]);
    refused(&place.sign(&[]), "not built from a commit alone");
    succeeded(&place.sign(&["--allow-modified"]));
    refused(&place.verify(&[]), "not built from a commit alone");
    let text = succeeded(&place.verify(&["--allow-modified"]));
    assert!(text.contains(&format!("source: {REVISION}, changed\n")), "{text}");
}
