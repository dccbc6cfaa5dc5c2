//! The software bill of materials: a CycloneDX 1.6 document whose bytes depend on nothing but its contents.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::inventory::{Inventory, Item};
use crate::digest::sha256;

/// File name in `.dist-info/sboms/` (PEP 770).
pub const FILE: &str = "executorch-runtime.cdx.json";

/// A shared library of the wheel.
pub struct File<'a> {
    /// The component's name in `components.toml`.
    pub component: &'a str,
    /// Path in the wheel.
    pub path: &'a str,
    /// Bytes.
    pub data: &'a [u8],
    /// `DT_NEEDED`.
    pub needed: &'a [String],
}

/// What the document is about.
pub struct Subject<'a> {
    /// Distribution name.
    pub name: &'a str,
    /// Version with its label.
    pub version: &'a str,
    /// SPDX expression.
    pub license: &'a str,
    /// Newest glibc version that the libraries need.
    pub glibc: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bom {
    bom_format: String,
    spec_version: String,
    version: u32,
    metadata: Metadata,
    components: Vec<Component>,
    dependencies: Vec<Dependency>,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    tools: Tools,
    component: Component,
}

#[derive(Serialize, Deserialize)]
struct Tools {
    components: Vec<Component>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Component {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "bom-ref", default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    licenses: Vec<License>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purl: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    external_references: Vec<Reference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    properties: Vec<Property>,
}

#[derive(Serialize, Deserialize)]
struct Hash {
    alg: String,
    content: String,
}

#[derive(Serialize, Deserialize)]
struct License {
    expression: String,
    acknowledgement: String,
}

#[derive(Serialize, Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
    url: String,
}

#[derive(Serialize, Deserialize)]
struct Property {
    name: String,
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    depends_on: BTreeSet<String>,
}

/// The document's text.
pub fn render(subject: &Subject<'_>, inventory: &Inventory, files: &[File<'_>]) -> Result<String> {
    let root = format!("pkg:pypi/{}@{}", subject.name, subject.version.replace('+', "%2B"));
    let mut components = Vec::new();
    let mut dependencies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let shipped = |name: &str| files.iter().find(|file| file_name(file.path) == name);
    let mut system = BTreeSet::new();
    for file in files {
        let mut links = inventory.linked.get(file.component).cloned().with_context(|| {
            format!("{}: nobody knows what is linked into component `{}`", file.path, file.component)
        })?;
        for need in file.needed {
            links.insert(
                shipped(need).map_or_else(|| system_reference(need), |file| file_reference(file.path)),
            );
            if shipped(need).is_none() {
                system.insert(need.as_str());
            }
        }
        dependencies.entry(root.clone()).or_default().insert(file_reference(file.path));
        dependencies.insert(file_reference(file.path), links);
        components.push(library(file));
    }
    for name in system {
        components.push(of_system(name, subject.glibc));
        dependencies.insert(system_reference(name), BTreeSet::new());
    }
    for (reference, item) in &inventory.items {
        components.push(linked(reference, item));
        dependencies.insert(reference.clone(), item.links.clone());
    }
    let bom = Bom {
        bom_format: "CycloneDX".into(),
        spec_version: "1.6".into(),
        version: 1,
        metadata: Metadata {
            tools: Tools {
                components: vec![Component {
                    kind: "application".into(),
                    name: env!("CARGO_PKG_NAME").into(),
                    version: Some(env!("CARGO_PKG_VERSION").into()),
                    ..Component::default()
                }],
            },
            component: Component {
                kind: "library".into(),
                reference: Some(root.clone()),
                name: subject.name.into(),
                version: Some(subject.version.into()),
                licenses: license(subject.license),
                purl: Some(root),
                ..Component::default()
            },
        },
        components,
        dependencies: dependencies
            .into_iter()
            .map(|(reference, depends_on)| Dependency { reference, depends_on })
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&bom)? + "\n")
}

/// Package URL and SHA-256 of every archive that a document's text names.
pub fn materials(text: &[u8]) -> Result<BTreeMap<String, String>> {
    let bom: Bom = serde_json::from_slice(text).context("not a CycloneDX document of this project")?;
    let material = |component: Component| {
        let hash = component.hashes.into_iter().find(|hash| hash.alg == "SHA-256")?;
        Some((component.purl?, hash.content))
    };
    Ok(bom.components.into_iter().filter_map(material).collect())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn file_reference(path: &str) -> String {
    format!("file:{path}")
}

fn system_reference(name: &str) -> String {
    format!("system:{name}")
}

fn license(expression: &str) -> Vec<License> {
    vec![License { expression: expression.into(), acknowledgement: "declared".into() }]
}

fn hash(sha256: impl Into<String>) -> Vec<Hash> {
    vec![Hash { alg: "SHA-256".into(), content: sha256.into() }]
}

fn property(name: &str, value: &str) -> Property {
    Property { name: format!("executorch-runtime:{name}"), value: value.into() }
}

/// A shared library of the wheel.
fn library(file: &File<'_>) -> Component {
    Component {
        kind: "library".into(),
        reference: Some(file_reference(file.path)),
        name: file_name(file.path).into(),
        hashes: hash(sha256(file.data)),
        properties: vec![property("path", file.path)],
        ..Component::default()
    }
}

/// A library that is not in the wheel. It has no version: whatever the machine has is used.
fn of_system(name: &str, glibc: &str) -> Component {
    let properties = vec![property("provided-by", "system"), property("oldest-glibc", glibc)];
    Component {
        kind: "library".into(),
        reference: Some(system_reference(name)),
        name: name.into(),
        properties,
        ..Component::default()
    }
}

/// What is linked into a library.
fn linked(reference: &str, item: &Item) -> Component {
    let used = item.used.iter().map(String::as_str).collect::<Vec<_>>().join(" AND ");
    let mut properties = vec![property("used-under", &used)];
    properties.extend(item.archive.as_deref().map(|archive| property("archive", archive)));
    let reference_to = |url: &String| Reference { kind: "vcs".into(), url: url.clone() };
    Component {
        kind: "library".into(),
        reference: Some(reference.into()),
        name: item.name.clone(),
        version: Some(item.version.clone()),
        hashes: item.sha256.iter().flat_map(hash).collect(),
        licenses: license(&item.declared),
        purl: Some(reference.into()),
        external_references: item.repository.iter().map(reference_to).collect(),
        properties,
    }
}

#[cfg(test)]
mod tests {
    use super::super::inventory;
    use super::*;
    use serde_json::Value;

    fn document() -> Value {
        let needed = ["libexecutorch.so.1".to_owned(), "libc.so.6".to_owned()];
        let files = [
            File {
                component: "runtime",
                path: "p/lib/libexecutorch.so.1",
                data: b"abc",
                needed: &needed[1..],
            },
            File { component: "python", path: "p/_m.so", data: b"", needed: &needed },
        ];
        let subject =
            Subject { name: "executorch-runtime", version: "1.5.0+cu126", license: "MIT", glibc: "2.28" };
        let inventory = inventory::tests::cpu();
        let text = render(&subject, &inventory, &files).unwrap();
        assert_eq!(text, render(&subject, &inventory, &files).unwrap());
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn every_reference_is_described_and_every_library_named() {
        let bom = document();
        let components = bom["components"].as_array().unwrap();
        let described: BTreeSet<&str> =
            components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
        assert_eq!(described.len(), components.len(), "a reference stands for two things");
        for name in ["system:libc.so.6", "file:p/lib/libexecutorch.so.1", "file:p/_m.so"] {
            assert!(described.contains(name), "{name}");
        }
        for dependency in bom["dependencies"].as_array().unwrap() {
            for to in dependency["dependsOn"].as_array().into_iter().flatten() {
                assert!(described.contains(to.as_str().unwrap()), "{to}");
            }
        }
        let of = |reference: &str| {
            let all = bom["dependencies"].as_array().unwrap();
            all.iter().find(|dependency| dependency["ref"] == reference).unwrap()["dependsOn"].to_string()
        };
        assert!(of("file:p/_m.so").contains("file:p/lib/libexecutorch.so.1"));
        assert!(of("file:p/_m.so").contains("pkg:cargo/executorch-python@"));
        assert!(of("pkg:pypi/executorch-runtime@1.5.0%2Bcu126").contains("file:p/_m.so"));
        // SHA-256 of `abc` (FIPS 180-4).
        let runtime = components.iter().find(|c| c["name"] == "libexecutorch.so.1").unwrap();
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(runtime["hashes"][0]["content"], digest);
    }

    #[test]
    fn materials_are_the_archives() {
        let all = materials(document().to_string().as_bytes()).unwrap();
        assert!(all.keys().any(|purl| purl.starts_with("pkg:cargo/half@")));
        assert!(all.keys().any(|purl| purl.starts_with("pkg:generic/xnnpack@")));
        assert!(!all.keys().any(|purl| purl.contains("executorch")), "{all:?}");
        assert!(materials(b"{}").is_err());
    }
}
