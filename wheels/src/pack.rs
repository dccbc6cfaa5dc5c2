//! Puts a wheel together: libraries, sources, templates, metadata; audits it; gives name and bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::archive::{self, Entry};
use crate::component::Components;
use crate::metadata::{self, Metadata};
use crate::row::{RUNTIME, Row};
use crate::version::Version;
use crate::{audit, contents, record, tag, template};

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

/// Packs `row` from the source tree `root` and the linked libraries in `libs` (flat, by file name). The folder
/// `licenses` there holds the licence of each other project that is linked into them.
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
    let licenses = licenses(root, libs, row, components)?;
    let mut text = |path: String, data: Vec<u8>| entries.push(Entry { path, data, executable: false });
    for (name, license) in &licenses.texts {
        text(format!("{PACKAGE}/share/licenses/{name}"), license.clone());
        text(format!("{dist}/licenses/{name}"), license.clone());
    }
    let license_files: Vec<&str> = licenses.texts.keys().map(String::as_str).collect();
    let description =
        fs::read_to_string(root.join("wheels/description.md")).context("wheels/description.md")?;
    let metadata = Metadata {
        name: "executorch-runtime",
        version: &version,
        summary: "Runs ExecuTorch programs from Python, C++, C and Rust",
        license: &licenses.expression,
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

/// The licences of a wheel.
struct Licenses {
    /// SPDX expression.
    expression: String,
    /// Texts by file name.
    texts: BTreeMap<String, Vec<u8>>,
}

/// The project's own licence, and those of the projects that are linked into the row's components.
fn licenses(root: &Path, libs: &Path, row: &Row, all: &Components) -> Result<Licenses> {
    let license = fs::read(root.join("LICENSE")).context("LICENSE")?;
    let mut texts = BTreeMap::from([("LICENSE".to_owned(), license)]);
    let linked = row.components.iter().filter_map(|name| all.get(name)).flat_map(|item| &item.licenses);
    let linked: BTreeSet<&str> = linked.map(String::as_str).filter(|&license| license != LICENSE).collect();
    if !linked.is_empty() {
        let mut found = Vec::new();
        contents::add(&mut found, &libs.join("licenses"), "", &|_| true)?;
        texts.extend(found.into_iter().map(|entry| (entry.path.trim_start_matches('/').into(), entry.data)));
    }
    let expression = std::iter::once(LICENSE).chain(linked).collect::<Vec<_>>().join(" AND ");
    Ok(Licenses { expression, texts })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{component, row};

    const COMPONENTS: &str = r#"
        [own]
        package = "a"
        cargo-file = "liba.so"
        path = "lib/liba.so.1"
        exports = "none"
        [other]
        package = "b"
        cargo-file = "libb.so"
        path = "lib/libb.so.1"
        exports = "none"
        licenses = ["BSD-3-Clause", "MIT", "BSD-2-Clause"]
    "#;

    #[test]
    fn licences_of_what_is_linked_in_are_shipped_and_must_be_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let components = component::load(&root.join("wheels/components.toml")).unwrap();
        let rows = row::load(&root.join("wheels/rows.toml"), &components).unwrap();
        let mut row = row::find(&rows, "cpu").unwrap().clone();
        let components = component::parse(COMPONENTS).unwrap();
        let libs = tempfile::tempdir().unwrap();

        row.components = vec!["own".into()];
        let own = licenses(&root, libs.path(), &row, &components).unwrap();
        assert_eq!(own.expression, "BSD-3-Clause");
        assert_eq!(own.texts.keys().collect::<Vec<_>>(), ["LICENSE"]);

        row.components.push("other".into());
        assert!(licenses(&root, libs.path(), &row, &components).is_err());
        fs::create_dir(libs.path().join("licenses")).unwrap();
        fs::write(libs.path().join("licenses/b"), "text").unwrap();
        let both = licenses(&root, libs.path(), &row, &components).unwrap();
        assert_eq!(both.expression, "BSD-3-Clause AND BSD-2-Clause AND MIT");
        assert_eq!(both.texts.keys().collect::<Vec<_>>(), ["LICENSE", "b"]);
    }
}
