//! Whether the files of an index are what its entries say.

use anyhow::Result;
use wheelhouse::digest::sha256;

use super::live::Names;
use super::{Entry, Index, Wheel, pages};

/// What [`Index::check`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What users would run into, and what to do.
    pub faults: Vec<String>,
    /// Files that no entry names; they do no harm.
    pub leftovers: Vec<String>,
}

impl Index<'_> {
    /// Reads every file that the entries name and every page, and compares.
    pub fn check(&self) -> Result<Findings> {
        let before = self.pages()?;
        let catalogue = self.catalogue()?;
        let mut findings = Findings::default();
        for entry in &catalogue.entries {
            let faults = self.faults(entry)?;
            findings.faults.extend(faults.into_iter().map(|fault| format!("{}: {fault}", entry.filename)));
        }
        for page in pages::render(&catalogue, before.keys())? {
            let fault = match before.get(&page.name) {
                None => "is missing",
                Some(object) if object.bytes != page.bytes => "is not what the entries say",
                Some(_) => continue,
            };
            findings.faults.push(format!("{}: {fault}; `wheelhouse index render` writes it", page.name));
        }
        findings.leftovers =
            self.leftovers(&Names::of(&catalogue))?.into_iter().map(|(name, _)| name).collect();
        Ok(findings)
    }

    fn faults(&self, entry: &Entry) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        match self.file(&entry.filename)? {
            None => faults.push("the file is missing".to_owned()),
            Some(bytes) => match Wheel::read(&entry.filename, bytes) {
                Err(error) => faults.push(format!("{error:#}")),
                Ok(wheel) => compare(&wheel, entry, &mut faults),
            },
        }
        match self.file(&format!("{}.metadata", entry.filename))? {
            None => faults.push("its .metadata file is missing".to_owned()),
            Some(bytes) => {
                let digest = sha256(&bytes);
                differ("SHA-256 of its .metadata file", &entry.metadata_sha256, &digest, &mut faults);
            }
        }
        if let Some(name) = &entry.provenance
            && self.file(name)?.is_none()
        {
            faults.push(format!("its provenance `{name}` is missing"));
        }
        Ok(faults)
    }
}

fn compare(wheel: &Wheel, entry: &Entry, faults: &mut Vec<String>) {
    let actual = wheel.entry(&entry.row, &entry.upload_time, Vec::new());
    differ("SHA-256", &entry.sha256, &actual.sha256, faults);
    differ("size", &entry.size.to_string(), &actual.size.to_string(), faults);
    differ("SHA-256 of the METADATA in the wheel", &entry.metadata_sha256, &actual.metadata_sha256, faults);
    differ("project", &entry.project, &actual.project, faults);
    differ("version", &entry.version, &actual.version, faults);
    let range = |entry: &Entry| entry.requires_python.clone().unwrap_or_default();
    differ("Requires-Python", &range(entry), &range(&actual), faults);
}

fn differ(what: &str, listed: &str, found: &str, faults: &mut Vec<String>) {
    if listed != found {
        faults.push(format!("{what}: listed as {listed}, found {found}"));
    }
}
