//! An index in a store: how it changes, with other writers about and programs that are killed.
//!
//! A change is one conditional write of `entries.json`. The pages are written after it, and files before it:
//! * killed before the list is written: nothing that users see has changed; files may lie there that no list names;
//! * killed after it: pages that are not yet written show the index as it was. The next change or
//!   [`Index::render`] writes them.
//!
//! Each page is one object, so that no installer sees half a change. A page is written only over the page that was
//! read *before* the list that it is made of, and the list is read again at the end. A writer with an older list thus
//! cannot put its page over a newer one, and the last writer leaves the pages of the last list.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use wheelhouse::digest::sha256;

use super::name::{check_file, check_index};
use super::{Catalogue, Entry, Wheel, pages};
use crate::store::{self, Object, Store};

/// How often rendering begins again because other writers changed the index.
const ATTEMPTS: u32 = 50;

/// One index of a store.
#[derive(Clone, Copy, Debug)]
pub struct Index<'a> {
    pub(super) store: &'a Store,
    name: &'a str,
}

/// What [`Index::render`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Pages that differed and were written.
    pub written: Vec<String>,
    /// Pages that were right.
    pub unchanged: usize,
}

impl<'a> Index<'a> {
    /// The index called `name`, which need not exist yet.
    pub fn new(store: &'a Store, name: &'a str) -> Result<Self> {
        check_index(name)?;
        Ok(Self { store, name })
    }

    /// The index's name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// What the index holds.
    pub fn catalogue(&self) -> Result<Catalogue> {
        let object = self.store.get(&self.path("entries.json"))?;
        self.parse(object.as_ref().map(|object| &object.bytes[..]))
    }

    /// Puts the wheel, its metadata and, if there is one, its provenance statement (name and content) into the folder
    /// of the index. Nobody sees them before [`Index::change`] inserts the entry.
    pub fn put_files(&self, wheel: &Wheel, provenance: Option<(&str, &[u8])>) -> Result<()> {
        self.put_file(wheel.filename(), wheel.bytes().clone())?;
        self.put_file(&format!("{}.metadata", wheel.filename()), wheel.metadata().clone())?;
        provenance.map_or(Ok(()), |(name, bytes)| self.put_file(name, Bytes::copy_from_slice(bytes)))
    }

    /// Puts one file into the folder of the index. The same bytes may be put again, which makes the file young for
    /// [`Index::prune`]; others are refused.
    pub fn put_file(&self, name: &str, bytes: Bytes) -> Result<()> {
        check_file(name)?;
        let path = self.path(name);
        match self.store.create(&path, bytes.clone()) {
            Err(store::Error::Conflict { .. }) => {}
            result => return Ok(result?),
        }
        let there = self.store.get(&path)?.with_context(|| format!("`{path}` is being deleted"))?;
        ensure!(
            there.bytes == bytes,
            "`{path}` is there with SHA-256 {} and shall get {}: a name never changes its content; if it was never \
             listed, `wheelhouse index prune` deletes it",
            sha256(&there.bytes),
            sha256(&bytes)
        );
        Ok(self.store.put(&path, bytes)?)
    }

    /// A file of the folder of the index.
    pub fn file(&self, name: &str) -> Result<Option<Bytes>> {
        check_file(name)?;
        Ok(self.store.get(&self.path(name))?.map(|object| object.bytes))
    }

    /// Changes what the index holds, and writes the pages. When another writer comes first, `change` is called again
    /// with what that one left.
    pub fn change(&self, mut change: impl FnMut(&mut Catalogue) -> Result<()>) -> Result<Rendered> {
        let mut left = None;
        self.store.update(&self.path("entries.json"), |bytes| {
            let mut catalogue = self.parse(bytes)?;
            change(&mut catalogue)?;
            catalogue.settle()?;
            let json = Bytes::from(catalogue.json()?);
            let written = (bytes != Some(&json[..])).then(|| json.clone());
            left = Some((json, catalogue));
            anyhow::Ok(written)
        })?;
        self.write_pages(left)
    }

    /// Writes every page that is not what the entries say.
    pub fn render(&self) -> Result<Rendered> {
        self.write_pages(None)
    }

    /// Writes every page that is not what the entries say. `known` is a text of the list and what it says: a list is
    /// read and checked whenever it is another text, and only then.
    fn write_pages(&self, mut known: Option<(Bytes, Catalogue)>) -> Result<Rendered> {
        let mut rendered = Rendered::default();
        for _ in 0..ATTEMPTS {
            let pages = self.pages()?;
            let list = self.store.get(&self.path("entries.json"))?;
            let list = list.with_context(|| format!("{} has no index `{}`", self.store.name(), self.name))?;
            let catalogue = match known {
                Some((text, catalogue)) if text == list.bytes => catalogue,
                _ => self.parse(Some(&list.bytes))?,
            };
            if self.write(&pages, &catalogue, &mut rendered)? {
                let now = self.store.get(&self.path("entries.json"))?;
                if now.is_some_and(|now| now.version == list.version) {
                    return Ok(rendered);
                }
            }
            known = Some((list.bytes, catalogue));
        }
        bail!(
            "the pages of `{}` are behind its entries, because other writers keep changing it: try again",
            self.name
        )
    }

    /// Deletes files that no entry names and that are older than `age`, and returns their names. `age` must be longer
    /// than any writer takes between its files and its entry.
    pub fn prune(&self, age: Duration) -> Result<Vec<String>> {
        let list =
            || Ok::<_, anyhow::Error>(self.store.get(&self.path("entries.json"))?.map(|list| list.bytes));
        let mut text = list()?;
        let mut names = Names::of(&self.parse(text.as_deref())?);
        let mut pruned = Vec::new();
        for (name, modified) in self.leftovers(&names)? {
            let old = SystemTime::now().duration_since(modified).is_ok_and(|passed| passed >= age);
            if !old {
                continue;
            }
            // Somebody may have listed it meanwhile.
            let now = list()?;
            if now != text {
                names = Names::of(&self.parse(now.as_deref())?);
                text = now;
            }
            if !names.need(&name) {
                self.store.delete(&self.path(&name))?;
                pruned.push(name);
            }
        }
        Ok(pruned)
    }

    /// Files in the folder of the index that no entry names, and when they were written.
    pub(super) fn leftovers(&self, names: &Names) -> Result<Vec<(String, SystemTime)>> {
        let prefix = self.path("");
        let listed = self.store.list(self.name)?;
        let files = listed.iter().filter_map(|item| Some((item.path.strip_prefix(&prefix)?, item.modified)));
        let files = files.filter(|(name, _)| check_file(name).is_ok() && !names.need(name));
        Ok(files.map(|(name, modified)| (name.to_owned(), modified)).collect())
    }

    /// The pages as they are.
    pub(super) fn pages(&self) -> Result<BTreeMap<String, Object>> {
        let mut paths: Vec<String> =
            self.store.list(&self.path("simple"))?.into_iter().map(|item| item.path).collect();
        paths.push(self.path("index.html"));
        let prefix = self.path("");
        let mut pages = BTreeMap::new();
        for path in paths {
            let name = path.strip_prefix(&prefix).unwrap_or(&path).to_owned();
            if let Some(object) = self.store.get(&path)? {
                pages.insert(name, object);
            }
        }
        Ok(pages)
    }

    /// Writes the pages of `catalogue` over `before`; false if another writer came between.
    fn write(
        &self,
        before: &BTreeMap<String, Object>,
        catalogue: &Catalogue,
        rendered: &mut Rendered,
    ) -> Result<bool> {
        rendered.unchanged = 0;
        for page in pages::render(catalogue, before.keys())? {
            let path = self.path(&page.name);
            let written = match before.get(&page.name) {
                Some(object) if object.bytes == page.bytes => {
                    rendered.unchanged += 1;
                    continue;
                }
                Some(object) => self.store.replace(&path, page.bytes, &object.version),
                None => self.store.create(&path, page.bytes),
            };
            match written {
                Ok(()) => rendered.written.push(page.name),
                Err(store::Error::Conflict { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    pub(super) fn parse(&self, bytes: Option<&[u8]>) -> Result<Catalogue> {
        let Some(bytes) = bytes else { return Ok(Catalogue::new(self.name)) };
        Catalogue::parse(bytes, self.name)
            .with_context(|| format!("{}/entries.json in {}", self.name, self.store.name()))
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }
}

/// The files that entries name.
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn of(catalogue: &Catalogue) -> Self {
        let named = |entry: &Entry| [Some(entry.filename.clone()), entry.provenance.clone()];
        Self(catalogue.entries.iter().flat_map(named).flatten().collect())
    }

    /// Whether an entry needs the file: its wheel, the wheel's metadata, or its statement.
    fn need(&self, file: &str) -> bool {
        self.0.contains(file) || file.strip_suffix(".metadata").is_some_and(|wheel| self.0.contains(wheel))
    }
}
