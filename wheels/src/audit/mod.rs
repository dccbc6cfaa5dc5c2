//! The rules that every wheel keeps: one family a module. Each reads what is in the archive and says what is wrong.
//!
//! A wheel is audited against a row, or, if it comes from elsewhere, as a delegate: then its own tag says for which machines
//! it is.

mod abi3;
mod ceiling;
mod delegate;
mod files;
mod finding;
mod gpu;
mod identity;
mod metadata;
mod record;
mod search;
mod symbols;
mod zip;

pub use files::traces_in;
pub use finding::{Finding, Rule};
pub use gpu::DeviceCode;

use std::collections::BTreeSet;

use finding::Findings;

use crate::archive::Entry;
use crate::component::{Component, Components};
use crate::elf::{self, Facts};
use crate::row::{RUNTIME, Row, System};
use crate::tag::WheelName;

/// What a wheel is audited against.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its row; none for a delegate that is built elsewhere.
    pub row: Option<&'a Row>,
    /// All components that are declared.
    pub components: &'a Components,
}

impl Expected<'_> {
    /// Whether the wheel is a delegate beside the runtime's wheel.
    fn is_delegate(&self) -> bool {
        self.row.is_none_or(|row| row.project != RUNTIME)
    }
}

/// Audits the wheel `bytes` called `file_name`; an empty list means that it passed.
pub fn wheel(file_name: &str, bytes: &[u8], expected: &Expected<'_>) -> Vec<Finding> {
    let mut list = Vec::new();
    if let Some(row) = expected.row {
        identity::built(file_name, row, expected.components, &mut list);
    }
    let Some(entries) = zip::read(bytes, &mut Findings::on(file_name, &mut list)) else { return list };
    let Some(name) = metadata::file_name(file_name, &entries, &mut Findings::on(file_name, &mut list)) else {
        return list;
    };
    let dist_info = format!("{}-{}.dist-info", name.distribution, name.version);
    let mut wheel = Wheel {
        file_name,
        size: bytes.len() as u64,
        platform: metadata::platform(expected.row, &name),
        name,
        dist_info,
        entries,
        libraries: Vec::new(),
        expected: *expected,
    };
    wheel.libraries = libraries(&wheel, &mut list);

    let wheel = &wheel;
    record::check(wheel, &mut Findings::on(&format!("{}/RECORD", wheel.dist_info), &mut list));
    metadata::check(wheel, &mut list);
    files::check(wheel, &mut list);
    identity::components(wheel, &mut list);
    for library in &wheel.libraries {
        let mut findings = Findings::on(&library.path, &mut list);
        identity::check(wheel, library, &mut findings);
        ceiling::check(wheel, library, &mut findings);
        search::check(wheel, library, &mut findings);
        symbols::undefined(wheel, library, &mut findings);
        abi3::check(wheel, library, &mut findings);
        gpu::check(wheel, library, &mut findings);
    }
    symbols::definers(wheel, &mut Findings::on(file_name, &mut list));
    if expected.is_delegate() {
        delegate::check(wheel, &mut list);
    }
    list
}

/// A wheel whose archive can be trusted.
struct Wheel<'a> {
    file_name: &'a str,
    size: u64,
    /// The machines that it is for, if its row or its tag say so.
    platform: Option<Platform>,
    name: WheelName,
    /// Folder of the metadata.
    dist_info: String,
    entries: Vec<Entry>,
    libraries: Vec<Library<'a>>,
    expected: Expected<'a>,
}

/// The machines that a wheel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Platform {
    system: System,
    glibc: (u32, u32),
}

/// A shared library in a wheel.
struct Library<'a> {
    /// Path in the archive.
    path: String,
    /// Place in [`Wheel::entries`].
    entry: usize,
    facts: Facts,
    /// The row's component that it is.
    component: Option<(&'a str, &'a Component)>,
}

impl<'a> Wheel<'a> {
    /// The file at `path`, as text.
    fn text(&self, path: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.path == path)?;
        std::str::from_utf8(&entry.data).ok()
    }

    fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.path == path)
    }

    fn row(&self) -> Option<&'a Row> {
        self.expected.row
    }

    /// The row's components, each with its name and its path in the archive.
    fn components(&self) -> impl Iterator<Item = (&'a str, &'a Component, String)> {
        let Expected { row, components } = self.expected;
        row.into_iter().flat_map(move |row| {
            let named = row.components.iter().filter_map(|name| components.get_key_value(name));
            named.map(move |(name, component)| {
                (name.as_str(), component, format!("{}/{}", row.package(), component.path))
            })
        })
    }
}

impl Library<'_> {
    /// The file's own name.
    fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The folder that it lies in.
    fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    fn data<'b>(&self, wheel: &'b Wheel<'_>) -> &'b [u8] {
        wheel.entries.get(self.entry).map_or(&[], |entry| entry.data.as_slice())
    }
}

/// Whether a file is called as a shared library: `a.so`, `a.so.1`.
fn is_library_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".so") || name.contains(".so.")
}

fn libraries<'a>(wheel: &Wheel<'a>, list: &mut Vec<Finding>) -> Vec<Library<'a>> {
    let components: Vec<_> = wheel.components().collect();
    let mut libraries = Vec::new();
    for (index, entry) in wheel.entries.iter().enumerate() {
        if !elf::is_elf(&entry.data) && !is_library_name(&entry.path) {
            continue;
        }
        let component = components.iter().find(|(_, _, path)| *path == entry.path);
        let component = component.map(|(name, component, _)| (*name, *component));
        match elf::read(&entry.data) {
            Ok(facts) => {
                libraries.push(Library { path: entry.path.clone(), entry: index, facts, component });
            }
            Err(error) => Findings::on(&entry.path, list).add(
                Rule::Malformed,
                format!("{error:#}"),
                "a shared library with its sections",
                "link it again, and strip symbols only, not section headers",
            ),
        }
    }
    libraries
}

/// Names for a message: sorted, each once.
fn sorted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.into_iter().collect();
    if names.is_empty() { "nothing".into() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}
