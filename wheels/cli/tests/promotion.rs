//! The worked example of docs/promotion.md, run as it stands there, and the same with programs that run at once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(feature = "s3")]
#[path = "../../release/tests/support/bucket.rs"]
mod bucket;

use executorch_gate_report::{CHECKS, Check, Machine, Outcome, Report, SCHEMA, Verdict, Wheel};
use tempfile::TempDir;
use wheelhouse::archive::{self, Entry};
use wheelhouse::provenance::inventory::Inventory;
use wheelhouse::provenance::{sbom, statement};
use wheelhouse::row::Row;
use wheelhouse::{component, metadata, record, row};

const WHEELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A row with one library, which the C compiler makes.
const COMPONENTS: &str = r#"
[runtime]
package = "a"
cargo-file = "liba.so"
path = "lib/libexecutorch.so.1"
exports = "et"
"#;
const ROWS: &str = r#"
[cpu]
system = "x86_64-linux"
platform = "manylinux_2_28_x86_64"
glibc = "2.28"
python = "cp310"
label = ""
index = "cpu"
components = ["runtime"]
dependencies = []
gate-images = ["debian-11", "debian-12"]
publish = true
tested = { executorch = "1.5.1", torch = "2.13.0", numpy = "2.4.0" }
budget = { wheel = 60_000, runtime = 60_000 }
"#;

/// A folder with rows, wheels of these versions with their statements in `dist`, and a passing report on each in
/// `reports`.
fn workplace(versions: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["wheels", "dist", "reports"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for (name, text) in [("rows.toml", ROWS), ("components.toml", COMPONENTS)] {
        fs::write(folder.path().join("wheels").join(name), text).unwrap();
    }
    let row = &row::parse(ROWS, &component::parse(COMPONENTS).unwrap()).unwrap()["cpu"];
    let library = library(folder.path());
    for version in versions {
        let filename = format!("executorch_runtime-{version}-{}.whl", row.tag());
        let bytes = wheel(version, row, &library);
        let dist = folder.path().join("dist");
        fs::write(dist.join(&filename), &bytes).unwrap();
        let origin = statement::Origin {
            row: "cpu".to_owned(),
            revision: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            modified: false,
            builder: "https://example.org/forge".to_owned(),
            tools: BTreeMap::new(),
        };
        let text = statement::make(&filename, &bytes, &origin).unwrap();
        fs::write(dist.join(statement::file_name(&filename)), text).unwrap();
        let wheel = Wheel { sha256: sha256(&bytes), size: bytes.len() as u64, filename };
        for image in &row.gate_images {
            let name = format!("{version}-{image}.json");
            fs::write(folder.path().join("reports").join(name), report(&wheel, image, row)).unwrap();
        }
    }
    folder
}

/// A shared library with the registry's functions.
fn library(folder: &Path) -> Vec<u8> {
    let functions = ["et_register_backend", "et_register_kernels", "et_register_device_allocator"];
    let source: String = functions.iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    fs::write(folder.join("a.c"), source).unwrap();
    let flags = ["-shared", "-nostdlib", "-s", "-Wl,-soname,libexecutorch.so.1", "-Wl,-z,noexecstack"];
    let status = Command::new("cc").args(flags).args(["a.c", "-o", "a.so"]).current_dir(folder).status();
    assert!(status.unwrap().success());
    fs::read(folder.join("a.so")).unwrap()
}

/// A wheel that passes the audit.
fn wheel(version: &str, row: &Row, library: &[u8]) -> Vec<u8> {
    let info = format!("executorch_runtime-{version}.dist-info");
    let headers = format!(
        "Metadata-Version: 2.4\nName: executorch-runtime\nVersion: {version}\nRequires-Python: >=3.10\n"
    );
    let subject = sbom::Subject { name: "executorch-runtime", version, license: "MIT", glibc: "2.28" };
    let nothing = Inventory { items: BTreeMap::new(), linked: BTreeMap::new(), texts: BTreeMap::new() };
    let bom = sbom::render(&subject, &nothing, &[]).unwrap();
    let mut files: Vec<Entry> = [
        ("executorch_runtime/lib/libexecutorch.so.1".to_owned(), library.to_vec()),
        (format!("{info}/METADATA"), headers.into_bytes()),
        (format!("{info}/WHEEL"), metadata::wheel("test", &row.tag()).into_bytes()),
        (format!("{info}/sboms/{}", sbom::FILE), bom.into_bytes()),
    ]
    .map(|(path, data)| Entry { path, data, executable: false })
    .into();
    let path = format!("{info}/RECORD");
    let record = record::render(files.iter().map(|file| (&file.path[..], &file.data[..])), &path);
    files.push(Entry { path, data: record.into_bytes(), executable: false });
    archive::write(&files).unwrap()
}

fn report(wheel: &Wheel, image: &str, row: &Row) -> String {
    let check = |known: &executorch_gate_report::Known| {
        let absent = !known.parts.is_empty();
        Check {
            id: known.id.to_owned(),
            title: "it holds".to_owned(),
            group: known.id.split('.').next().unwrap().to_owned(),
            outcome: if absent { Outcome::Absent } else { Outcome::Pass },
            reason: if absent { "not in the wheel".to_owned() } else { String::new() },
            evidence: vec!["seen".to_owned()],
            seconds: 0.1,
        }
    };
    let report = Report {
        schema: SCHEMA.to_owned(),
        wheel: wheel.clone(),
        row: row.name.clone(),
        image: image.to_owned(),
        machine: Machine::default(),
        started: "2026-03-01T10:00:00Z".to_owned(),
        seconds: 1.0,
        checks: CHECKS.iter().map(check).collect(),
        verdict: Verdict::Pass,
    };
    report.to_json().unwrap()
}

/// By the system's own program, so that not everything in this test has one idea of a digest.
fn sha256(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    let output = Command::new("sha256sum").arg(file.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

/// The shell script of docs/promotion.md.
fn example() -> String {
    let path = Path::new(WHEELS).join("../docs/promotion.md");
    let text = fs::read_to_string(path).unwrap();
    let script = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(!script.is_empty());
    script.to_owned()
}

fn bash(folder: &Path, script: &str) -> Command {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_wheelhouse"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(folder).env("PATH", path);
    command
}

fn run(folder: &Path, script: &str) -> Output {
    bash(folder, script).output().unwrap()
}

#[track_caller]
fn succeeds(folder: &Path, script: &str) -> String {
    let output = run(folder, script);
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{errors}");
    out.into_owned()
}

#[test]
fn the_example_of_the_document() {
    let folder = workplace(&["1.5.0", "1.5.1"]);
    let told = succeeds(folder.path(), &example());
    for word in
        ["crashes on old processors", "wrong results for int8", "Install instead: executorch-runtime==1.5.0"]
    {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    let advisories = fs::read_to_string(folder.path().join("site/cpu/advisories.json")).unwrap();
    assert!(
        advisories.contains("crashes on old processors") && advisories.contains("\"cpu-4\""),
        "{advisories}"
    );

    // A refusal is an exit code and a line that says what to do.
    let output = run(
        folder.path(),
        "wheelhouse yank x.whl --store site --index cpu --indexes indexes.toml --reason bad --key lab.key",
    );
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("may not write the log") && errors.contains("indexes.toml"), "{errors}");
    let output = run(
        folder.path(),
        "echo executorch-runtime==1.5.9 >>site/cpu/pins.txt; wheelhouse verify --store site --index cpu --indexes indexes.toml",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cpu/pins.txt"));
    succeeds(
        folder.path(),
        "wheelhouse recover --store site --index cpu --indexes indexes.toml && wheelhouse verify --store site --index cpu --indexes indexes.toml",
    );
}

/// The same in a bucket, whose server the programs find and trust as S3 clients do.
#[cfg(feature = "s3")]
#[test]
fn the_example_of_the_document_in_a_bucket() {
    let folder = workplace(&["1.5.0", "1.5.1"]);
    let certificate = folder.path().join("certificate.pem");
    let server = bucket::Server::start(Some(&certificate));
    let store = format!("s3://{}/of/the/document", bucket::BUCKET);
    let script = example().replace("--store site", &format!("--store {store}"));
    assert!(script.contains(&store));
    let output = bash(folder.path(), &script)
        .env("AWS_ENDPOINT", &server.endpoint)
        .env("SSL_CERT_FILE", &certificate)
        .env("AWS_REGION", bucket::REGION)
        .env("AWS_ACCESS_KEY_ID", bucket::ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", bucket::ACCESS)
        .output()
        .unwrap();
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}\n{errors}");
    for word in ["crashes on old processors", "wrong results for int8"] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert!(!folder.path().join("site").exists());
}

/// Without the feature, a bucket is refused with what to do.
#[cfg(not(feature = "s3"))]
#[test]
fn a_bucket_needs_the_feature() {
    let folder = workplace(&[]);
    let output = run(folder.path(), "wheelhouse index check --store s3://bucket/x");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--features s3"), "{errors}");
}

#[test]
fn programs_that_promote_at_once() {
    let versions = ["1.5.0", "1.5.1", "1.5.2", "1.5.3"];
    let folder = workplace(&versions);
    let keys = example();
    let keys = keys.split("# The build machine").next().unwrap();
    let script = keys.to_owned()
        + r#"
wheels=$(cd dist && ls *.whl)
for wheel in $wheels; do
  wheelhouse provenance sign dist/$wheel --key forge.key
  wheelhouse index add --store site --row cpu dist/$wheel --provenance dist/$wheel.intoto.json
done
wheelhouse sign --key lab.key reports/*.json
jobs=
for wheel in $wheels; do
  for owner in ann bob; do
    wheelhouse approve $wheel $site --reports reports --key $owner.key --out approvals/$owner-$wheel.json
  done
done
for wheel in $wheels; do
  wheelhouse promote $wheel $site --reports reports --approvals approvals --key train.key & jobs="$jobs $!"
done
for job in $jobs; do wait $job; done
wheelhouse verify $site
"#;
    let told = succeeds(folder.path(), &script);
    assert!(told.lines().last().unwrap().starts_with("4:"), "{told}");
    let page =
        fs::read_to_string(folder.path().join("site/cpu/simple/executorch-runtime/index.html")).unwrap();
    for version in versions {
        assert!(page.contains(&format!("executorch_runtime-{version}-")), "{page}");
    }
}
