//! The in-toto statement beside a wheel, with a SLSA provenance predicate: which row it is, and what it was built from.
//!
//! It says nothing of when and where, so that who builds again from the same sources gets the same statement, but for
//! the builder's name.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::sbom;
use crate::archive;
use crate::digest::sha256;

/// The media type of a statement, which its signature binds.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

const TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";
/// `docs/provenance.md` says what the parameters mean.
const BUILD_TYPE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/provenance.md#wheel-1");

/// File name of the statement of a wheel, without signature.
pub fn file_name(wheel: &str) -> String {
    format!("{wheel}.provenance.json")
}

/// File name of the signed statement of a wheel.
pub fn signed_file_name(wheel: &str) -> String {
    format!("{wheel}.intoto.json")
}

/// What a builder knows.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Row in `rows.toml`.
    pub row: String,
    /// Commit of the source tree; none if it is in no repository.
    pub revision: Option<String>,
    /// Whether files of the source tree differ from that commit.
    pub modified: bool,
    /// URI that names who built.
    pub builder: String,
    /// Versions of the tools.
    pub tools: BTreeMap<String, String>,
}

/// What a verifier asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected<'a> {
    /// The row.
    pub row: Option<&'a str>,
    /// The commit.
    pub revision: Option<&'a str>,
    /// The builder.
    pub builder: Option<&'a str>,
    /// Whether sources without commit, or changed after it, are good enough.
    pub allow_modified: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Resource>,
    predicate_type: String,
    predicate: Predicate,
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Resource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    digest: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Predicate {
    build_definition: BuildDefinition,
    run_details: RunDetails,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BuildDefinition {
    build_type: String,
    external_parameters: ExternalParameters,
    internal_parameters: InternalParameters,
    resolved_dependencies: Vec<Resource>,
}

#[derive(Serialize, Deserialize)]
struct ExternalParameters {
    row: String,
    source: Source,
}

#[derive(Serialize, Deserialize)]
struct Source {
    uri: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    digest: BTreeMap<String, String>,
    modified: bool,
}

#[derive(Serialize, Deserialize)]
struct InternalParameters {
    tools: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct RunDetails {
    builder: Builder,
}

#[derive(Serialize, Deserialize)]
struct Builder {
    id: String,
}

/// The statement of the wheel called `name` with the bytes `wheel`.
pub fn make(name: &str, wheel: &[u8], origin: &Origin) -> Result<String> {
    let uri = format!("git+{}", env!("CARGO_PKG_REPOSITORY"));
    let digest: BTreeMap<String, String> =
        origin.revision.iter().map(|revision| ("gitCommit".to_owned(), revision.clone())).collect();
    let mut resolved_dependencies = materials(wheel)?;
    if !digest.is_empty() {
        resolved_dependencies
            .insert(0, Resource { name: None, uri: Some(uri.clone()), digest: digest.clone() });
    }
    let statement = Statement {
        kind: TYPE.into(),
        subject: vec![subject(name, wheel)],
        predicate_type: PREDICATE_TYPE.into(),
        predicate: Predicate {
            build_definition: BuildDefinition {
                build_type: BUILD_TYPE.into(),
                external_parameters: ExternalParameters {
                    row: origin.row.clone(),
                    source: Source { uri, digest, modified: origin.modified },
                },
                internal_parameters: InternalParameters { tools: origin.tools.clone() },
                resolved_dependencies,
            },
            run_details: RunDetails { builder: Builder { id: origin.builder.clone() } },
        },
    };
    Ok(serde_json::to_string_pretty(&statement)? + "\n")
}

/// Checks that the statement `text` is about the wheel called `name` with the bytes `wheel`, that it names all that the
/// wheel's SBOM names, and that it says what is expected; gives what it says of the build.
pub fn check(text: &[u8], name: &str, wheel: &[u8], expected: Expected<'_>) -> Result<Origin> {
    let statement: Statement = serde_json::from_slice(text).context("not a provenance statement")?;
    let definition = statement.predicate.build_definition;
    for (what, found, wanted) in [
        ("_type", &statement.kind, TYPE),
        ("predicateType", &statement.predicate_type, PREDICATE_TYPE),
        ("buildType", &definition.build_type, BUILD_TYPE),
    ] {
        same(what, found, wanted)?;
    }
    let [found] = statement.subject.as_slice() else {
        bail!("the statement is about {} files, expected the wheel alone", statement.subject.len());
    };
    same("the wheel's name", found.name.as_deref().unwrap_or_default(), name)?;
    let digest = found.digest.get("sha256").context("the statement has no sha256 of the wheel")?;
    same("the wheel's sha256", digest, &sha256(wheel))?;

    let source = definition.external_parameters.source;
    let revision = source.digest.get("gitCommit").cloned();
    let origin = Origin {
        row: definition.external_parameters.row,
        modified: source.modified,
        builder: statement.predicate.run_details.builder.id,
        tools: definition.internal_parameters.tools,
        revision,
    };
    for (what, found, wanted) in [
        ("row", origin.row.as_str(), expected.row),
        ("source revision", origin.revision.as_deref().unwrap_or("none"), expected.revision),
        ("builder", origin.builder.as_str(), expected.builder),
    ] {
        wanted.map_or(Ok(()), |wanted| same(what, found, wanted))?;
    }
    if !expected.allow_modified && (origin.modified || origin.revision.is_none()) {
        bail!(
            "the wheel was not built from a commit alone: its sources were changed, or were in no repository"
        );
    }
    for material in materials(wheel)? {
        if !definition.resolved_dependencies.contains(&material) {
            let uri = material.uri.unwrap_or_default();
            bail!("the wheel's SBOM names {uri}, which the statement does not name with the same digest");
        }
    }
    Ok(origin)
}

fn same(what: &str, found: &str, wanted: &str) -> Result<()> {
    if found == wanted { Ok(()) } else { bail!("the statement's {what} is `{found}`, expected `{wanted}`") }
}

fn subject(name: &str, wheel: &[u8]) -> Resource {
    let digest = BTreeMap::from([("sha256".to_owned(), sha256(wheel))]);
    Resource { name: Some(name.to_owned()), uri: None, digest }
}

/// The archives that the wheel's SBOM names.
fn materials(wheel: &[u8]) -> Result<Vec<Resource>> {
    let suffix = format!(".dist-info/sboms/{}", sbom::FILE);
    let entries = archive::read(wheel).context("not a wheel")?;
    let sbom = entries.iter().find(|entry| entry.path.ends_with(&suffix));
    let sbom = sbom.with_context(|| format!("the wheel has no SBOM: no file *{suffix}"))?;
    let resource = |(uri, digest)| Resource {
        name: None,
        uri: Some(uri),
        digest: BTreeMap::from([("sha256".to_owned(), digest)]),
    };
    Ok(sbom::materials(&sbom.data)?.into_iter().map(resource).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Entry;
    use crate::provenance::{inventory, sbom};
    use serde_json::{Value, json};

    const NAME: &str = "a-1-py3-none-any.whl";

    fn wheel() -> Vec<u8> {
        let subject = sbom::Subject { name: "a", version: "1", license: "MIT", glibc: "2.28" };
        let text = sbom::render(&subject, &inventory::tests::cpu(), &[]).unwrap();
        let path = format!("a-1.dist-info/sboms/{}", sbom::FILE);
        archive::write(&[Entry { path, data: text.into_bytes(), executable: false }]).unwrap()
    }

    fn origin() -> Origin {
        Origin {
            row: "cpu".into(),
            revision: Some("0123456789abcdef0123456789abcdef01234567".into()),
            modified: false,
            builder: "https://example.org/builder".into(),
            tools: BTreeMap::from([("rustc".to_owned(), "1.95.0".to_owned())]),
        }
    }

    #[test]
    fn a_statement_is_checked_against_its_wheel() {
        let wheel = wheel();
        let text = make(NAME, &wheel, &origin()).unwrap();
        assert_eq!(text, make(NAME, &wheel, &origin()).unwrap());
        let revision = origin().revision.unwrap();
        let expected =
            Expected { row: Some("cpu"), revision: Some(&revision), builder: None, allow_modified: false };
        let found = check(text.as_bytes(), NAME, &wheel, expected).unwrap();
        assert_eq!(found.tools["rustc"], "1.95.0");
        let refused = |expected: Expected<'_>, word: &str| {
            let error = check(text.as_bytes(), NAME, &wheel, expected).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        };
        refused(Expected { row: Some("cu126"), ..expected }, "row is `cpu`");
        refused(Expected { revision: Some("f"), ..expected }, "source revision");
        refused(Expected { builder: Some("https://other"), ..expected }, "builder");
        assert!(check(text.as_bytes(), "b.whl", &wheel, expected).is_err());
        let mut changed = wheel.clone();
        changed.push(0);
        assert!(check(text.as_bytes(), NAME, &changed, expected).unwrap_err().to_string().contains("sha256"));
        assert!(make(NAME, b"no zip", &origin()).is_err());
        assert!(
            make(NAME, &archive::write(&[]).unwrap(), &origin()).unwrap_err().to_string().contains("SBOM")
        );
    }

    #[test]
    fn each_changed_field_is_refused() {
        let wheel = wheel();
        let good: Value = serde_json::from_str(&make(NAME, &wheel, &origin()).unwrap()).unwrap();
        let refused = |pointer: &str, value: Value, word: &str| {
            let mut changed = good.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            let text = changed.to_string();
            let error =
                format!("{:#}", check(text.as_bytes(), NAME, &wheel, Expected::default()).unwrap_err());
            assert!(error.contains(word), "{pointer}: {error}");
        };
        refused("/_type", json!("https://in-toto.io/Statement/v0.1"), "_type");
        refused("/predicateType", json!("https://slsa.dev/provenance/v0.2"), "predicateType");
        refused("/predicate/buildDefinition/buildType", json!("other"), "buildType");
        refused("/subject", json!([]), "about 0 files");
        refused("/subject/0/digest/sha256", json!("0".repeat(64)), "sha256");
        refused("/subject/0/name", json!("b.whl"), "name");
        refused("/predicate/buildDefinition/externalParameters/source/modified", json!(true), "changed");
        refused("/predicate/buildDefinition/externalParameters/source/digest", json!({}), "no repository");
        let materials = good["predicate"]["buildDefinition"]["resolvedDependencies"].as_array().unwrap();
        assert!(materials[0]["uri"].as_str().unwrap().starts_with("git+https://"));
        for index in 1..materials.len() {
            let pointer = format!("/predicate/buildDefinition/resolvedDependencies/{index}/digest/sha256");
            refused(&pointer, json!("0".repeat(64)), "SBOM names");
        }
        refused("/predicate", json!({}), "not a provenance statement");
    }
}
