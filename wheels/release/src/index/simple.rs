//! What installers read: the simple repository, as HTML (PEP 503) and as JSON (PEP 691, version 1.1 of PEP 700), with
//! separate metadata (PEP 658 and 714) and yanks (PEP 592).

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use chrono::SecondsFormat;
use html_escape::{encode_double_quoted_attribute as attribute, encode_text};
use serde::Serialize;

use super::catalogue::utc;
use super::name::{normalize, url};
use super::{Catalogue, Entry};

/// The version of the simple API that the pages keep.
const API: &str = "1.1";

/// From a project's page to the folder of the index, where the wheels are.
const UP: &str = "../../";

/// The entries of each project, by normalised name.
pub type Projects<'a> = BTreeMap<String, Vec<&'a Entry>>;

/// Sorts entries into projects.
pub fn projects(catalogue: &Catalogue) -> Projects<'_> {
    let mut projects = Projects::new();
    for entry in &catalogue.entries {
        projects.entry(normalize(&entry.project)).or_default().push(entry);
    }
    projects
}

#[derive(Serialize)]
struct Meta {
    #[serde(rename = "api-version")]
    api_version: &'static str,
}

#[derive(Serialize)]
struct Root<'a> {
    meta: Meta,
    projects: Vec<Project<'a>>,
}

#[derive(Serialize)]
struct Project<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Detail<'a> {
    meta: Meta,
    name: &'a str,
    versions: Vec<&'a str>,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct File<'a> {
    filename: &'a str,
    url: String,
    hashes: Digest<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requires_python: Option<&'a str>,
    core_metadata: Digest<'a>,
    dist_info_metadata: Digest<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    yanked: Option<Yanked<'a>>,
    size: u64,
    upload_time: String,
}

#[derive(Clone, Copy, Serialize)]
struct Digest<'a> {
    sha256: &'a str,
}

/// PEP 691: the reason, or `true` if none is given.
#[derive(Serialize)]
#[serde(untagged)]
enum Yanked<'a> {
    Reason(&'a str),
    Flag(bool),
}

/// The list of projects as HTML.
pub fn root_html(projects: &Projects<'_>) -> String {
    let mut html = head("Simple index");
    for name in projects.keys() {
        let _ = writeln!(html, "<a href=\"{name}/\">{name}</a><br>", name = attribute(name));
    }
    html + FOOT
}

/// The list of projects as JSON.
pub fn root_json(projects: &Projects<'_>) -> Result<Vec<u8>> {
    let projects = projects.keys().map(|name| Project { name }).collect();
    Ok(serde_json::to_vec(&Root { meta: Meta { api_version: API }, projects })?)
}

/// A project's files as HTML.
pub fn project_html(name: &str, entries: &[&Entry]) -> String {
    let mut html = head(&format!("Links for {name}"));
    html.reserve(entries.len() * 512);
    for entry in entries {
        let file = url(&entry.filename);
        let _ = write!(html, "<a href=\"{UP}{}#sha256={}\"", attribute(&file), attribute(&entry.sha256));
        if let Some(range) = &entry.requires_python {
            let _ = write!(html, " data-requires-python=\"{}\"", escaped(range));
        }
        let digest = attribute(&entry.metadata_sha256);
        let _ = write!(
            html,
            " data-core-metadata=\"sha256={digest}\" data-dist-info-metadata=\"sha256={digest}\""
        );
        if let Some(reason) = &entry.yanked {
            let _ = write!(html, " data-yanked=\"{}\"", escaped(reason));
        }
        let _ = writeln!(html, ">{}</a><br>", encode_text(&entry.filename));
    }
    html + FOOT
}

/// A project's files as JSON.
pub fn project_json(name: &str, entries: &[&Entry]) -> Result<Vec<u8>> {
    let mut versions: Vec<&str> = entries.iter().map(|entry| &entry.version[..]).collect();
    versions.dedup();
    let files = entries.iter().map(|entry| file(entry)).collect::<Result<_>>()?;
    Ok(serde_json::to_vec(&Detail { meta: Meta { api_version: API }, name, versions, files })?)
}

fn file(entry: &Entry) -> Result<File<'_>> {
    let metadata = Digest { sha256: &entry.metadata_sha256 };
    let time = utc(&entry.upload_time).with_context(|| entry.filename.clone())?;
    let yanked = entry.yanked.as_deref().map(|reason| match reason {
        "" => Yanked::Flag(true),
        reason => Yanked::Reason(reason),
    });
    Ok(File {
        filename: &entry.filename,
        url: format!("{UP}{}", url(&entry.filename)),
        hashes: Digest { sha256: &entry.sha256 },
        requires_python: entry.requires_python.as_deref(),
        core_metadata: metadata,
        dist_info_metadata: metadata,
        yanked,
        size: entry.size,
        upload_time: time.to_rfc3339_opts(SecondsFormat::Micros, true),
    })
}

/// An attribute's value without `<` and `>` too: PEP 503 asks for that in `data-requires-python`.
fn escaped(value: &str) -> String {
    attribute(value).replace('<', "&lt;").replace('>', "&gt;")
}

fn head(title: &str) -> String {
    let title = encode_text(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"pypi:repository-version\" content=\"{API}\">\n<title>{title}</title>\n</head>\n<body>\n\
         <h1>{title}</h1>\n"
    )
}

const FOOT: &str = "</body>\n</html>\n";
