//! Puts a wheel together: libraries, sources, templates, metadata; audits it; gives name and bytes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::archive::{self, Entry};
use crate::component::Components;
use crate::metadata::{self, Metadata};
use crate::provenance::inventory::Inventory;
use crate::provenance::sbom;
use crate::row::{RUNTIME, Row};
use crate::version::Version;
use crate::{audit, contents, elf, record, tag, template};

const PACKAGE: &str = "executorch_runtime";

/// A finished wheel.
pub struct Wheel {
    /// File name.
    pub name: String,
    /// The archive.
    pub bytes: Vec<u8>,
}

/// The project's own licence.
const LICENSE: &str = "BSD-3-Clause";

/// Packs `row` from the source tree `root` and the linked libraries in `libs` (flat, by file name), where
/// [`Inventory::gather`] also finds what it asks for.
pub fn pack(
    root: &Path,
    libs: &Path,
    row: &Row,
    components: &Components,
    version: &Version,
) -> Result<Wheel> {
    if row.project != RUNTIME {
        bail!("row `{}` is a wheel of {}: only wheels of {RUNTIME} are packed here", row.name, row.project);
    }
    row.require_built(components)?;
    let version = version.with_label(&row.label)?.to_string();
    let mut entries = Vec::new();
    for name in &row.components {
        let component = components.get(name).with_context(|| format!("unknown component `{name}`"))?;
        let path = libs.join(component.file_name());
        let data = fs::read(&path)
            .with_context(|| format!("component `{name}` is not built: {}", path.display()))?;
        entries.push(Entry { path: format!("{PACKAGE}/{}", component.path), data, executable: true });
    }
    sources(&mut entries, root)?;
    templates(&mut entries, root, &version, row, components)?;
    let dist = format!("{PACKAGE}-{version}.dist-info");
    let inventory = Inventory::gather(root, libs, row, components)?;
    let license = inventory.expression(LICENSE);
    let bom = bill(&inventory, &entries, row, components, &version, &license)?;
    let licenses = licenses(root, &inventory)?;
    let mut text = |path: String, data: Vec<u8>| entries.push(Entry { path, data, executable: false });
    for (name, license) in &licenses {
        text(format!("{PACKAGE}/share/licenses/{name}"), license.clone());
        text(format!("{dist}/licenses/{name}"), license.clone());
    }
    text(format!("{dist}/sboms/{}", sbom::FILE), bom.into_bytes());
    let license_files: Vec<&str> = licenses.iter().map(|(name, _)| name.as_str()).collect();
    let description =
        fs::read_to_string(root.join("wheels/description.md")).context("wheels/description.md")?;
    let metadata = Metadata {
        name: RUNTIME,
        version: &version,
        summary: "Runs ExecuTorch programs from Python, C++, C and Rust",
        license: &license,
        license_files: &license_files,
        homepage: env!("CARGO_PKG_REPOSITORY"),
        requires_python: &row.requires_python()?,
        dependencies: &row.requirements(&version),
        description: &description,
    };
    text(format!("{dist}/METADATA"), metadata.render().into_bytes());
    text(format!("{dist}/WHEEL"), metadata::wheel("wheelhouse", &row.tag()).into_bytes());
    let scripts = [("executorch-runtime", "executorch_runtime.__main__:main")];
    text(format!("{dist}/entry_points.txt"), metadata::entry_points(&scripts).into_bytes());
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let path = format!("{dist}/RECORD");
    let record = record::render(entries.iter().map(|e| (e.path.as_str(), e.data.as_slice())), &path);
    entries.push(Entry { path, data: record.into_bytes(), executable: false });
    let bytes = archive::write(&entries)?;
    let name = tag::wheel_file_name(PACKAGE, &version, &row.tag());
    let findings = audit::wheel(&name, &bytes, &audit::Expected { row: Some(row), components });
    if !findings.is_empty() {
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        bail!("the wheel failed its audit:\n  {}", findings.join("\n  "));
    }
    Ok(Wheel { name, bytes })
}

/// The SBOM: `entries` holds the libraries.
fn bill(
    inventory: &Inventory,
    entries: &[Entry],
    row: &Row,
    components: &Components,
    version: &str,
    license: &str,
) -> Result<String> {
    let mut found = Vec::with_capacity(row.components.len());
    for name in &row.components {
        let declared = components.get(name).with_context(|| format!("unknown component `{name}`"))?;
        let path = format!("{PACKAGE}/{}", declared.path);
        let entry = entries.iter().find(|entry| entry.path == path).context("a library is missing")?;
        found.push((name, entry, elf::read(&entry.data)?));
    }
    let files: Vec<_> = found
        .iter()
        .map(|(component, entry, facts)| sbom::File {
            component,
            path: &entry.path,
            data: &entry.data,
            needed: &facts.needed,
        })
        .collect();
    let subject = sbom::Subject { name: RUNTIME, version, license, glibc: &row.glibc };
    sbom::render(&subject, inventory, &files)
}

/// The texts of licences, the project's own first, by their names below `licenses/`.
fn licenses(root: &Path, inventory: &Inventory) -> Result<Vec<(String, Vec<u8>)>> {
    let own = fs::read(root.join("LICENSE")).context("LICENSE")?;
    let others = inventory.texts.iter().map(|(name, text)| (format!("third-party/{name}"), text.clone()));
    Ok(std::iter::once(("LICENSE".to_owned(), own)).chain(others).collect())
}

fn sources(entries: &mut Vec<Entry>, root: &Path) -> Result<()> {
    let python = |name: &str| name.ends_with(".py") || name.ends_with(".pyi") || name == "py.typed";
    contents::add(entries, &root.join("runtime/python/python/executorch_runtime"), PACKAGE, &python)?;
    let include = format!("{PACKAGE}/include");
    let header = |name: &str| name.ends_with(".h") || name.ends_with(".hpp");
    contents::add(entries, &root.join("runtime/abi/include"), &include, &header)?;
    contents::add(entries, &root.join("runtime/cpp/include"), &include, &header)
}

fn templates(
    entries: &mut Vec<Entry>,
    root: &Path,
    version: &str,
    row: &Row,
    all: &Components,
) -> Result<()> {
    let mut sources = Vec::new();
    contents::add(&mut sources, &root.join("runtime/cpp/cmake"), "", &|name| name.ends_with(".j2"))?;
    for source in sources {
        let name = source.path.trim_start_matches('/').trim_end_matches(".j2");
        let folder = if name.ends_with(".pc") { "lib/pkgconfig" } else { "lib/cmake/executorch" };
        let text = template::render(std::str::from_utf8(&source.data)?, version, row, all)
            .with_context(|| format!("runtime/cpp/cmake{}", source.path))?;
        entries.push(Entry {
            path: format!("{PACKAGE}/{folder}/{name}"),
            data: text.into_bytes(),
            executable: false,
        });
    }
    Ok(())
}
