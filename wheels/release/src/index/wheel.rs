//! What an index has to know of a wheel, read from its bytes.

use std::io::{Cursor, Read};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use pep440_rs::{Version, VersionSpecifiers};
use wheelhouse::digest::sha256;
use zip::ZipArchive;

use super::name::{WheelName, normalize};
use super::{Entry, GateResult};

/// Largest `METADATA` that is read; ours has a few kilobytes.
const MAX_METADATA: u64 = 4 << 20;

/// A wheel and what its metadata says. The rest of the archive is the audit's business.
#[derive(Clone, Debug)]
pub struct Wheel {
    filename: String,
    bytes: Bytes,
    metadata: Bytes,
    project: String,
    version: String,
    requires_python: Option<String>,
}

impl Wheel {
    /// Reads the wheel called `filename`. Its metadata must agree with its name.
    pub fn read(filename: &str, bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        Self::parse(filename, bytes).with_context(|| format!("wheel `{filename}`"))
    }

    fn parse(filename: &str, bytes: Bytes) -> Result<Self> {
        let name: WheelName = filename.parse()?;
        let metadata = metadata(&bytes)?;
        let text = std::str::from_utf8(&metadata).context("METADATA is not UTF-8")?;
        let project = header(text, "Name")?.context("METADATA has no `Name`")?;
        let version = header(text, "Version")?.context("METADATA has no `Version`")?;
        let requires_python = header(text, "Requires-Python")?;
        ensure!(normalize(project) == name.project, "METADATA is of project `{project}`");
        let parsed: Version = version.parse().with_context(|| format!("METADATA: version `{version}`"))?;
        ensure!(parsed == name.version, "METADATA is of version `{version}`");
        if let Some(range) = requires_python {
            range
                .parse::<VersionSpecifiers>()
                .with_context(|| format!("METADATA: Requires-Python `{range}`"))?;
        }
        let (project, version) = (project.to_owned(), version.to_owned());
        let requires_python = requires_python.map(str::to_owned);
        Ok(Self { filename: filename.to_owned(), bytes, metadata, project, version, requires_python })
    }

    /// File name.
    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// Project as the metadata write it.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// The whole file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// `METADATA` as it is in the wheel.
    pub fn metadata(&self) -> &Bytes {
        &self.metadata
    }

    /// Digest of the file, in hexadecimal.
    pub fn sha256(&self) -> String {
        sha256(&self.bytes)
    }

    /// The entry of this wheel for an index to which it comes at `upload_time` (RFC 3339, UTC).
    pub fn entry(&self, row: &str, upload_time: &str, gate: Vec<GateResult>) -> Entry {
        Entry {
            filename: self.filename.clone(),
            project: self.project.clone(),
            version: self.version.clone(),
            sha256: self.sha256(),
            size: self.bytes.len() as u64,
            requires_python: self.requires_python.clone(),
            upload_time: upload_time.to_owned(),
            metadata_sha256: sha256(&self.metadata),
            yanked: None,
            row: row.to_owned(),
            gate,
            provenance: None,
        }
    }
}

/// The one `*.dist-info/METADATA` at the archive's top.
fn metadata(wheel: &[u8]) -> Result<Bytes> {
    let mut zip = ZipArchive::new(Cursor::new(wheel)).context("the file is not a zip archive")?;
    let is_metadata = |name: &&str| {
        name.strip_suffix(".dist-info/METADATA").is_some_and(|stem| !stem.is_empty() && !stem.contains('/'))
    };
    let names: Vec<String> = zip.file_names().filter(is_metadata).map(str::to_owned).collect();
    let [name] = &names[..] else {
        anyhow::bail!("expected one `*.dist-info/METADATA` in the archive, found {}", names.len());
    };
    let file = zip.by_name(name).with_context(|| format!("cannot read {name}"))?;
    let mut text = Vec::new();
    file.take(MAX_METADATA + 1).read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
    ensure!(text.len() as u64 <= MAX_METADATA, "{name} is larger than {MAX_METADATA} bytes");
    Ok(text.into())
}

/// The value of a header that may be there once.
fn header<'a>(text: &'a str, name: &str) -> Result<Option<&'a str>> {
    let head = text.lines().take_while(|line| !line.is_empty());
    let mut values = head.filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    });
    let value = values.next();
    ensure!(values.next().is_none(), "METADATA has `{name}` twice");
    Ok(value)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// A zip archive of `files`.
    pub(crate) fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn read(name: &str, metadata: &str) -> Result<Wheel> {
        Wheel::read(name, zipped(&[("a/b.py", ""), ("a_b-1.0.dist-info/METADATA", metadata)]))
    }

    const NAME: &str = "a_b-1.0-py3-none-any.whl";

    #[test]
    fn a_wheel_is_read() {
        let text =
            "Metadata-Version: 2.4\nName: A.b\nVersion: 1.0\nRequires-Python: >=3.10\n\nName: not a header\n";
        let wheel = read(NAME, text).unwrap();
        assert_eq!(wheel.metadata(), text);
        let entry = wheel.entry("cpu", "2026-01-01T00:00:00Z", Vec::new());
        assert_eq!((&entry.project[..], &entry.version[..]), ("A.b", "1.0"));
        assert_eq!(entry.requires_python.as_deref(), Some(">=3.10"));
        // printf 'x' | sha256sum, for the digest's form.
        assert_eq!(sha256(b"x"), "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
    }

    #[test]
    fn each_fault_is_refused() {
        for (name, text, message) in [
            (NAME, "Version: 1.0\n", "no `Name`"),
            (NAME, "Name: a-b\n", "no `Version`"),
            (NAME, "Name: other\nVersion: 1.0\n", "of project `other`"),
            (NAME, "Name: a-b\nVersion: 1.0.1\n", "of version `1.0.1`"),
            (NAME, "Name: a-b\nVersion: 1.0+cpu\n", "of version `1.0+cpu`"),
            (NAME, "Name: a-b\nName: a-b\nVersion: 1.0\n", "twice"),
            (NAME, "Name: a-b\nVersion: 1.0\nRequires-Python: three\n", "Requires-Python `three`"),
            ("a_b-1.0.whl", "Name: a-b\nVersion: 1.0\n", "is not a wheel"),
        ] {
            let error = format!("{:#}", read(name, text).unwrap_err());
            assert!(error.contains(message) && error.contains(name), "{message} not in: {error}");
        }
        assert!(Wheel::read(NAME, b"text".to_vec()).is_err());
        assert!(Wheel::read(NAME, zipped(&[("a", "")])).is_err());
        let two = [("a-1.dist-info/METADATA", ""), ("b-1.dist-info/METADATA", "")];
        assert!(Wheel::read(NAME, zipped(&two)).is_err());
        let long = format!("Name: a-b\nVersion: 1.0\n\n{}", " ".repeat(MAX_METADATA as usize));
        assert!(format!("{:#}", read(NAME, &long).unwrap_err()).contains("larger than"));
    }
}
