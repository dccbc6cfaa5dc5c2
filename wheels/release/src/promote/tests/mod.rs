//! Tests of promotion on small stores in memory and in folders.

mod concurrent;
mod crash;
mod edits;
mod policy;
mod refusals;
mod taking_back;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use executorch_gate_report::{CHECKS, Check, Machine, Outcome, Report, SCHEMA, Verdict, Wheel};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use wheelhouse::archive::{self, Entry as File};
use wheelhouse::component::{self, Components};
use wheelhouse::provenance::inventory::Inventory;
use wheelhouse::provenance::{sbom, statement};
use wheelhouse::row::{self, Rows};
use wheelhouse::{metadata, record};

use super::*;
use crate::index::{self, Index};
use crate::log::{Entry, moment};
use crate::sign::{Envelope, PrivateKey, Signature};

pub(super) const IMAGES: [&str; 2] = ["old", "new"];
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// A project with an index `cpu` that asks two of its three owners, and has a gate and a writer.
pub(super) struct Project {
    pub objects: Arc<dyn ObjectStore>,
    pub store: Store,
    pub indexes: Indexes,
    pub rows: Rows,
    pub components: Components,
}

/// The private key of a number.
pub(super) fn key(seed: u8) -> PrivateKey {
    PrivateKey::from_seed(&[seed; 32])
}

pub(super) fn owner(number: u8) -> PrivateKey {
    key(number)
}

pub(super) fn writer() -> PrivateKey {
    key(10)
}

pub(super) fn gate() -> PrivateKey {
    key(20)
}

pub(super) fn builder() -> PrivateKey {
    key(30)
}

pub(super) fn indexes_toml() -> String {
    let listed = |role: &str, name: &str, key: &PrivateKey| {
        format!("[[index.cpu.{role}]]\nname = \"{name}\"\nkey = \"{}\"\n", key.public())
    };
    let mut text =
        "staging = \"staging\"\n[index.cpu]\npublic = true\nrows = [\"cpu\"]\napprovals = 2\n".to_owned();
    for (number, name) in [(1, "ann"), (2, "bob"), (3, "cam")] {
        text += &listed("owners", name, &owner(number));
    }
    text += &listed("writers", "train", &writer());
    text + &listed("gate", "lab", &gate()) + &listed("builders", "forge", &builder())
}

/// The time that most tests happen at.
pub(super) fn now() -> SystemTime {
    moment("2026-03-01T12:00:00Z").unwrap()
}

impl Project {
    pub(super) fn new() -> Self {
        Self::over(Arc::new(InMemory::new()))
    }

    pub(super) fn over(objects: Arc<dyn ObjectStore>) -> Self {
        Self {
            store: open(&objects),
            objects,
            indexes: Indexes::parse(&indexes_toml()).unwrap(),
            rows: rows(),
            components: components(),
        }
    }

    pub(super) fn site(&self) -> Site<'_> {
        self.on(&self.store)
    }

    pub(super) fn on<'a>(&'a self, store: &'a Store) -> Site<'a> {
        Site { store, indexes: &self.indexes, rows: &self.rows, components: &self.components }
    }

    /// Puts a wheel of that version into staging; gives its file name.
    pub(super) fn stage(&self, version: &str) -> String {
        self.stage_as(version, "cpu", "content")
    }

    pub(super) fn stage_as(&self, version: &str, row: &str, content: &str) -> String {
        self.stage_bytes(version, row, wheel_bytes(version, content))
    }

    /// The same with a wheel of any content, and with its builder's statement.
    pub(super) fn stage_bytes(&self, version: &str, row: &str, bytes: Vec<u8>) -> String {
        let filename = format!("executorch_runtime-{version}-{}.whl", self.rows["cpu"].tag());
        let (beside, text) =
            (statement::signed_file_name(&filename), stated(&filename, &bytes, row, false, &builder()));
        let wheel = index::Wheel::read(&filename, bytes).unwrap();
        let staging = Index::new(&self.store, "staging").unwrap();
        staging.put_files(&wheel, Some((&beside, text.as_bytes()))).unwrap();
        let mut entry = wheel.entry(row, "2026-02-28T00:00:00Z", vec![]);
        entry.provenance = Some(beside);
        staging.change(|catalogue| catalogue.insert(entry.clone())).unwrap();
        filename
    }

    /// Takes all that is known of a wheel out of staging, so that another may have its name.
    pub(super) fn unstage(&self, filename: &str) {
        let statement = statement::signed_file_name(filename);
        for name in ["entries.json", filename, &format!("{filename}.metadata"), &statement] {
            self.store.delete(&format!("staging/{name}")).unwrap();
        }
    }

    /// What the gate says of a wheel in staging on an image.
    pub(super) fn report(&self, filename: &str, image: &str) -> Report {
        let bytes = self.get(&format!("staging/{filename}"));
        let wheel = file_of(&index::Wheel::read(filename, bytes).unwrap());
        Report {
            schema: SCHEMA.to_owned(),
            wheel,
            row: "cpu".to_owned(),
            image: image.to_owned(),
            machine: Machine::default(),
            started: "2026-03-01T10:00:00Z".to_owned(),
            seconds: 1.5,
            // The row ships no parts.
            checks: CHECKS
                .iter()
                .map(|known| match known.parts {
                    [] => check(known.id, Outcome::Pass, ""),
                    _ => check(known.id, Outcome::Absent, "not built yet"),
                })
                .collect(),
            verdict: Verdict::Pass,
        }
    }

    /// Good reports on every image.
    pub(super) fn reports(&self, filename: &str) -> Vec<ReportFile> {
        IMAGES.iter().map(|image| signed(&self.report(filename, image))).collect()
    }

    pub(super) fn approval(&self, filename: &str, number: u8) -> ApprovalFile {
        let reports = self.reports(filename);
        let (json, _) =
            approve(&self.site(), "cpu", filename, &reports, &owner(number), now(), WEEK).unwrap();
        ApprovalFile { name: format!("approval-{number}.json"), json: json.into() }
    }

    pub(super) fn approvals(&self, filename: &str) -> Vec<ApprovalFile> {
        [1, 2].map(|number| self.approval(filename, number)).to_vec()
    }

    /// Stages, tries, approves and promotes a wheel of that version.
    pub(super) fn release(&self, version: &str) -> String {
        let filename = self.stage(version);
        self.promote(&filename, &self.reports(&filename), &self.approvals(&filename)).unwrap();
        filename
    }

    pub(super) fn promote(
        &self,
        filename: &str,
        reports: &[ReportFile],
        approvals: &[ApprovalFile],
    ) -> Result<Entry> {
        promote(&self.site(), "cpu", filename, reports, approvals, &writer(), now())
    }

    pub(super) fn verify(&self) -> Result<Verified> {
        verify(&self.store, &self.indexes, "cpu", None)
    }

    pub(super) fn get(&self, path: &str) -> bytes::Bytes {
        self.store.get(path).unwrap().unwrap_or_else(|| panic!("{path} is not there")).bytes
    }

    pub(super) fn text(&self, path: &str) -> String {
        String::from_utf8(self.get(path).to_vec()).unwrap()
    }
}

pub(super) fn open(objects: &Arc<dyn ObjectStore>) -> Store {
    Store::new(Arc::clone(objects), None, "memory").unwrap()
}

pub(super) fn components() -> Components {
    component::parse(include_str!("../../../../components.toml")).unwrap()
}

/// The project's own row, with images that these tests know, and without libraries, which no compiler has to make then.
pub(super) fn rows() -> Rows {
    let mut rows = row::parse(include_str!("../../../../rows.toml"), &components()).unwrap();
    rows.retain(|name, _| name == "cpu");
    let cpu = rows.get_mut("cpu").unwrap();
    cpu.gate_images = IMAGES.map(str::to_owned).to_vec();
    cpu.components.clear();
    cpu.allowed_skips.clear();
    cpu.allowed_skips.insert("old".to_owned(), vec!["python.*".to_owned()]);
    rows
}

fn wheel_bytes(version: &str, content: &str) -> Vec<u8> {
    let info = format!("executorch_runtime-{version}.dist-info");
    let headers = format!(
        "Metadata-Version: 2.4\nName: executorch-runtime\nVersion: {version}\nRequires-Python: >=3.10\n"
    );
    let subject = sbom::Subject { name: "executorch-runtime", version, license: "MIT", glibc: "2.28" };
    let nothing = Inventory { items: BTreeMap::new(), linked: BTreeMap::new(), texts: BTreeMap::new() };
    let mut files: Vec<File> = [
        ("executorch_runtime/__init__.py".to_owned(), content.to_owned()),
        (format!("{info}/METADATA"), headers),
        (format!("{info}/WHEEL"), metadata::wheel("test", &rows()["cpu"].tag())),
        (format!("{info}/sboms/{}", sbom::FILE), sbom::render(&subject, &nothing, &[]).unwrap()),
    ]
    .map(|(path, text)| File { path, data: text.into_bytes(), executable: false })
    .into();
    let path = format!("{info}/RECORD");
    let record = record::render(files.iter().map(|file| (&file.path[..], &file.data[..])), &path);
    files.push(File { path, data: record.into_bytes(), executable: false });
    archive::write(&files).unwrap()
}

/// The statement of what a wheel was built from, signed with `key`.
pub(super) fn stated(filename: &str, bytes: &[u8], row: &str, modified: bool, key: &PrivateKey) -> String {
    let origin = statement::Origin {
        row: row.to_owned(),
        revision: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        modified,
        builder: "https://example.org/forge".to_owned(),
        tools: BTreeMap::new(),
    };
    let text = statement::make(filename, bytes, &origin).unwrap();
    Envelope::new(key, statement::PAYLOAD_TYPE, text.into_bytes()).to_json()
}

pub(super) fn check(id: &str, outcome: Outcome, reason: &str) -> Check {
    Check {
        id: id.to_owned(),
        title: "it holds".to_owned(),
        group: id.split('.').next().unwrap().to_owned(),
        outcome,
        reason: reason.to_owned(),
        evidence: vec!["seen".to_owned()],
        seconds: 0.1,
    }
}

/// Changes the outcome of the check `id`.
pub(super) fn change(report: &mut Report, id: &str, outcome: Outcome, reason: &str) {
    let found = report.checks.iter_mut().find(|check| check.id == id).unwrap();
    *found = check(id, outcome, reason);
}

/// The report's file with the gate's signature.
pub(super) fn signed(report: &Report) -> ReportFile {
    let json = report.to_json().unwrap();
    let signature = Signature::new(&gate(), REPORT_TYPE, json.as_bytes()).to_json();
    ReportFile { name: report.image.clone(), json: json.into(), signature: Some(signature.into()) }
}

/// Checks that it failed, and that each of `words` stands in the message.
#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(result: Result<T>, words: &[&str]) {
    let error = format!("{:#}", result.unwrap_err());
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

fn file_of(wheel: &index::Wheel) -> Wheel {
    super::approve::file_of(wheel)
}
