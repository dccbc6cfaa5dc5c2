//! Everything that is linked into the components of a row, with its licences and their texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::crates::{Crate, Graph, Id};
use super::license::{self, Collection, Policy};
use super::parts::{self, Part, Toolchain};
use crate::component::Components;
use crate::row::Row;

/// File name of cargo's metadata among the linked libraries; without it, cargo is asked.
pub const METADATA: &str = "metadata.json";

/// A crate or another project that is linked in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// SPDX expression that the project states.
    pub declared: String,
    /// The licences that the wheel uses it under.
    pub used: BTreeSet<String>,
    /// Its source repository.
    pub repository: Option<String>,
    /// File name of the archive with its sources, where there is one besides the registry's.
    pub archive: Option<String>,
    /// SHA-256 of its archive.
    pub sha256: Option<String>,
    /// References of the items that it links.
    pub links: BTreeSet<String>,
}

/// What is linked into a row's components.
#[derive(Debug, PartialEq, Eq)]
pub struct Inventory {
    /// All items by reference, a package URL.
    pub items: BTreeMap<String, Item>,
    /// Component to the references of what is linked into it directly.
    pub linked: BTreeMap<String, BTreeSet<String>>,
    /// Texts of licences by file name.
    pub texts: BTreeMap<String, Vec<u8>>,
}

impl Inventory {
    /// Finds out what is linked into the components of `row`, built from the source tree `root`. `libs` is the folder
    /// of the linked libraries; there are [`parts::TOOLCHAIN`], the folder `licenses` with a text for each part, and
    /// [`METADATA`] where cargo cannot be asked.
    ///
    /// Fails with the name of the project if a licence is missing or not allowed.
    pub fn gather(root: &Path, libs: &Path, row: &Row, components: &Components) -> Result<Self> {
        let metadata = libs.join(METADATA);
        let graph = Graph::load(root, row.system, metadata.is_file().then_some(metadata.as_path()))?;
        let mut gathering = Gathering {
            policy: Policy::load(&root.join("wheels/licenses.toml"))?,
            texts: Collection::default(),
            items: BTreeMap::new(),
        };
        let toolchain = Toolchain::load(libs)?;
        let mut linked = BTreeMap::new();
        for name in &row.components {
            let component = components.get(name).with_context(|| format!("unknown component `{name}`"))?;
            let mut direct = BTreeSet::new();
            for (id, item) in graph.linked(&component.package)? {
                if id.0 == component.package {
                    direct.insert(crate_reference(&id));
                }
                gathering.add_crate(id, item)?;
            }
            let mut parts = toolchain.linked.clone();
            if let Some(native) = &component.native {
                parts.extend(parts::native(&root.join(native))?);
            }
            for part in parts {
                direct.insert(gathering.add_part(part, &libs.join("licenses"))?);
            }
            linked.insert(name.clone(), direct);
        }
        Ok(Self { items: gathering.items, linked, texts: gathering.texts.finish()? })
    }

    /// The SPDX expression of the whole wheel, which begins with the project's `own` licence.
    pub fn expression(&self, own: &str) -> String {
        let used: BTreeSet<&str> = self
            .items
            .values()
            .flat_map(|item| &item.used)
            .map(String::as_str)
            .filter(|&id| id != own)
            .collect();
        std::iter::once(own).chain(used).collect::<Vec<_>>().join(" AND ")
    }
}

struct Gathering {
    policy: Policy,
    texts: Collection,
    items: BTreeMap<String, Item>,
}

impl Gathering {
    fn add_crate(&mut self, id: Id, found: Crate) -> Result<()> {
        let reference = crate_reference(&id);
        let links: BTreeSet<String> = found.links.iter().map(crate_reference).collect();
        // Another component may link it with more features.
        if let Some(known) = self.items.get_mut(&reference) {
            known.links.extend(links);
            return Ok(());
        }
        let (name, version) = id;
        let project = format!("crate {name} {version}");
        let used = self.policy.choose(&project, found.license.as_deref())?;
        // The crates of this workspace come under its own licence, whose text is there anyway.
        if found.sha256.is_some() {
            let mut files = license::files(&found.folder)?;
            files.extend(found.license_file.filter(|file| !files.contains(file)));
            self.texts.add(&self.policy, &project, &used, &files)?;
        }
        let item = Item {
            declared: license::canonical(found.license.as_deref().unwrap_or_default())?,
            name,
            version,
            used,
            repository: found.repository,
            archive: None,
            sha256: found.sha256,
            links,
        };
        self.items.insert(reference, item);
        Ok(())
    }

    fn add_part(&mut self, part: Part, licenses: &Path) -> Result<String> {
        let reference = format!("pkg:generic/{}@{}", encoded(&part.name), encoded(&part.version));
        if self.items.contains_key(&reference) {
            return Ok(reference);
        }
        let project = format!("{} {}", part.name, part.version);
        let used = self.policy.choose(&project, Some(&part.license))?;
        let path = licenses.join(&part.name);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("the licence of {project} is missing: {}", path.display()))?;
        self.texts.keep(&project, &part.name, &text);
        let item = Item {
            name: part.name,
            version: part.version,
            declared: license::canonical(&part.license)?,
            used,
            repository: Some(part.repository),
            archive: part.archive,
            sha256: part.sha256,
            links: BTreeSet::new(),
        };
        self.items.insert(reference.clone(), item);
        Ok(reference)
    }
}

/// The package URL of a crate.
fn crate_reference((name, version): &Id) -> String {
    format!("pkg:cargo/{}@{}", encoded(name), encoded(version))
}

/// `text` as a part of a package URL.
fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{component, row};
    use std::path::PathBuf;

    pub fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// The row `cpu`, as the source tree has it, with made-up texts of licences.
    pub fn cpu() -> Inventory {
        let libs = libs();
        let (row, components) = declared();
        Inventory::gather(&root(), libs.path(), &row, &components).unwrap()
    }

    fn declared() -> (Row, Components) {
        let components = component::load(&root().join("wheels/components.toml")).unwrap();
        let rows = row::load(&root().join("wheels/rows.toml"), &components).unwrap();
        (row::find(&rows, "cpu").unwrap().clone(), components)
    }

    fn libs() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let part = Part {
            name: "rust-std".into(),
            version: "1.2.3".into(),
            license: "MIT OR Apache-2.0".into(),
            repository: "https://example.org/rust".into(),
            archive: None,
            sha256: None,
        };
        Toolchain { tools: BTreeMap::new(), linked: vec![part] }.save(dir.path()).unwrap();
        fs::create_dir(dir.path().join("licenses")).unwrap();
        for name in ["rust-std", "xnnpack", "cpuinfo", "fxdiv", "pthreadpool"] {
            fs::write(dir.path().join("licenses").join(name), format!("text of {name}")).unwrap();
        }
        dir
    }

    #[test]
    fn the_row_has_crates_and_libraries_with_their_texts() {
        let all = cpu();
        let xnnpack = &all.items["pkg:generic/xnnpack@0.0~git20241108.4ea82e5"];
        assert_eq!(xnnpack.declared, "BSD-3-Clause");
        assert!(xnnpack.sha256.is_some());
        assert!(all.linked["backend_xnnpack"].iter().any(|item| item.contains("/cpuinfo@")));
        assert!(!all.linked["runtime"].iter().any(|item| item.contains("/cpuinfo@")));
        assert!(all.linked.values().all(|direct| direct.contains("pkg:generic/rust-std@1.2.3")));
        let flatbuffers = all.items.values().find(|item| item.name == "flatbuffers").unwrap();
        assert_eq!(flatbuffers.used, BTreeSet::from(["Apache-2.0".to_owned()]));
        let index = String::from_utf8(all.texts["INDEX.txt"].clone()).unwrap();
        for (reference, item) in &all.items {
            let own = reference.starts_with("pkg:cargo/") && item.sha256.is_none();
            assert!(own || index.contains(&format!("{} {}: ", item.name, item.version)), "{reference}");
            assert!(item.links.iter().all(|link| all.items.contains_key(link)), "{reference}");
        }
        let expression = all.expression("BSD-3-Clause");
        assert!(
            expression.starts_with("BSD-3-Clause AND Apache-2.0 AND BSD-2-Clause AND MIT"),
            "{expression}"
        );
        assert_eq!(all, cpu());
    }

    #[test]
    fn a_part_without_a_text_or_with_a_forbidden_licence_is_named() {
        let (row, components) = declared();
        let gather =
            |libs: &Path| format!("{:#}", Inventory::gather(&root(), libs, &row, &components).unwrap_err());
        let libs = libs();
        fs::remove_file(libs.path().join("licenses/fxdiv")).unwrap();
        assert!(gather(libs.path()).contains("the licence of fxdiv"));
        let mut toolchain = Toolchain::load(libs.path()).unwrap();
        toolchain.linked[0].license = "GPL-3.0-only".into();
        toolchain.save(libs.path()).unwrap();
        let error = gather(libs.path());
        assert!(error.contains("rust-std 1.2.3") && error.contains("does not allow"), "{error}");
        fs::write(libs.path().join(METADATA), "{}").unwrap();
        assert!(gather(libs.path()).contains("cargo metadata"));
    }

    #[test]
    fn references_are_encoded() {
        assert_eq!(crate_reference(&("a".into(), "1.0.0+b".into())), "pkg:cargo/a@1.0.0%2Bb");
    }
}
