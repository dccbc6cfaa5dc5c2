//! The pages of an index: a pure function of its entries.

use anyhow::Result;
use bytes::Bytes;

use super::{Catalogue, simple};
use crate::page;

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Path from the folder of the index.
    pub name: String,
    /// Content.
    pub bytes: Bytes,
}

/// Every page of `catalogue`, the narrow ones first: a project's page is there before a list leads to it. A project
/// that has a page among `present` but no wheels any more gets an empty page, because a page that is deleted could be
/// one that another writer has just made.
pub fn render<'a>(catalogue: &Catalogue, present: impl Iterator<Item = &'a String>) -> Result<Vec<Page>> {
    let projects = simple::projects(catalogue);
    let mut pages = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>| pages.push(Page { name, bytes: bytes.into() });
    for (name, entries) in &projects {
        add(format!("simple/{name}/index.html"), simple::project_html(name, entries).into());
        add(format!("simple/{name}/index.json"), simple::project_json(name, entries)?);
    }
    for path in present {
        let Some((name, file)) = path.strip_prefix("simple/").and_then(|path| path.split_once('/')) else {
            continue;
        };
        match file {
            _ if projects.contains_key(name) => {}
            "index.html" => add(path.clone(), simple::project_html(name, &[]).into()),
            "index.json" => add(path.clone(), simple::project_json(name, &[])?),
            _ => {}
        }
    }
    add("simple/index.html".into(), simple::root_html(&projects).into());
    add("simple/index.json".into(), simple::root_json(&projects)?);
    add("index.html".into(), page::render(catalogue)?.into());
    Ok(pages)
}
