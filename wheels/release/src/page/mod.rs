//! The page of an index for people: what there is, how to install it, how it was tried, what changed.
//!
//! It is one file without scripts and without anything from elsewhere, so that it is the same from a folder, from a
//! bucket and offline.

mod view;

use anyhow::{Context, Result};
use minijinja::Environment;

use crate::index::Catalogue;

/// The page as HTML.
pub fn render(catalogue: &Catalogue) -> Result<String> {
    let mut templates = Environment::new();
    // The name's ending turns escaping on.
    templates.add_template("page.html", include_str!("page.html"))?;
    let page = templates.get_template("page.html")?.render(view::View::new(catalogue));
    page.with_context(|| format!("the page of `{}`", catalogue.index))
}

#[cfg(test)]
mod tests;
