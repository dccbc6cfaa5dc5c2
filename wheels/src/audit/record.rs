//! `RECORD`: every file, its digest, its size; nothing else.

use std::collections::BTreeMap;

use super::Wheel;
use super::finding::{Findings, Rule};
use crate::record;

/// Signatures of `RECORD`, which it does not name (PEP 427).
const UNLISTED: [&str; 2] = ["RECORD.jws", "RECORD.p7s"];

pub(super) fn check(wheel: &Wheel<'_>, findings: &mut Findings<'_>) {
    let allowed = "every file once, with the SHA-256 and the size that it has";
    let mend = "write RECORD last, from the files as they are packed";
    let mut add = |found: String| findings.add(Rule::Record, found, allowed, mend);
    let path = format!("{}/RECORD", wheel.dist_info);
    let Some(text) = wheel.text(&path) else { return add(format!("no text file `{path}`")) };
    let Some(rows) = record::parse(text) else { return add("not comma-separated values".into()) };
    let mut named = BTreeMap::new();
    for row in rows {
        let [name, digest, size] = row.as_slice() else {
            add(format!("a line with {} fields", row.len()));
            continue;
        };
        if named.insert(name.clone(), (digest.clone(), size.clone())).is_some() {
            add(format!("`{name}` twice"));
        }
    }
    let empty = (String::new(), String::new());
    for entry in &wheel.entries {
        let unlisted = UNLISTED.iter().any(|name| entry.path == format!("{}/{name}", wheel.dist_info));
        match named.remove(&entry.path) {
            None if unlisted => {}
            None => add(format!("`{}` is not named", entry.path)),
            Some(fields) if entry.path == path => {
                if fields != empty {
                    add("a digest of RECORD itself".into());
                }
            }
            Some(fields) => {
                let (digest, size) = (record::digest(&entry.data), entry.data.len().to_string());
                if fields != (digest.clone(), size.clone()) {
                    let has = format!("{digest},{size}");
                    add(format!("`{}`: {},{} for a file that has {has}", entry.path, fields.0, fields.1));
                }
            }
        }
    }
    for name in named.keys() {
        add(format!("`{name}` is named but not there"));
    }
}
