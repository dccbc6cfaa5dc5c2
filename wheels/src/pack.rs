//! Puts a wheel together: libraries, sources, templates, metadata; audits it; gives name and bytes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::archive::{self, Entry};
use crate::component::Components;
use crate::metadata::{self, Metadata};
use crate::row::Row;
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

/// Packs `row` from the source tree `root` and the linked libraries in `libs` (flat, by file name).
pub fn pack(
    root: &Path,
    libs: &Path,
    row: &Row,
    components: &Components,
    version: &Version,
) -> Result<Wheel> {
    let version = version.with_label(&row.label)?.to_string();
    let mut entries = Vec::new();
    let mut findings = Vec::new();
    let mut facts = Vec::new();
    for name in &row.components {
        let component = components.get(name).with_context(|| format!("unknown component `{name}`"))?;
        let path = libs.join(component.file_name());
        let data = fs::read(&path)
            .with_context(|| format!("component `{name}` is not built: {}", path.display()))?;
        findings.extend(audit::library(name, &data, row, components)?);
        facts.push((name.as_str(), elf::read(&data)?));
        entries.push(Entry { path: format!("{PACKAGE}/{}", component.path), data, executable: true });
    }
    findings.extend(audit::resolution(&facts, components));
    sources(&mut entries, root)?;
    templates(&mut entries, root, &version, row, components)?;
    let dist = format!("{PACKAGE}-{version}.dist-info");
    let license = fs::read(root.join("LICENSE")).context("LICENSE")?;
    let mut text = |path: String, data: Vec<u8>| entries.push(Entry { path, data, executable: false });
    text(format!("{PACKAGE}/share/licenses/LICENSE"), license.clone());
    text(format!("{dist}/licenses/LICENSE"), license);
    let description =
        fs::read_to_string(root.join("wheels/description.md")).context("wheels/description.md")?;
    let metadata = Metadata {
        name: "executorch-runtime",
        version: &version,
        summary: "Runs ExecuTorch programs from Python, C++, C and Rust",
        license: "BSD-3-Clause",
        license_files: &["LICENSE"],
        homepage: env!("CARGO_PKG_REPOSITORY"),
        requires_python: &row.requires_python()?,
        dependencies: &row.dependencies,
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
    let budget = row.budget.get("wheel").copied().unwrap_or(0);
    if bytes.len() as u64 > budget {
        findings.push(format!("wheel: {} bytes, budget {budget}", bytes.len()));
    }
    if !findings.is_empty() {
        bail!("the wheel failed its audit:\n  {}", findings.join("\n  "));
    }
    Ok(Wheel { name: tag::wheel_file_name(PACKAGE, &version, &row.tag()), bytes })
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
