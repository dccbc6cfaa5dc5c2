//! The worked example of docs/promotion.md, run as it stands there, and the same with programs that run at once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(feature = "s3")]
#[path = "../../release/tests/support/bucket.rs"]
mod bucket;

use executorch_gate_report::{Check, Machine, Outcome, Report, SCHEMA, Verdict, Wheel};
use tempfile::TempDir;
use wheelhouse::{archive, component, row};

const WHEELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A folder with the project's rows, wheels of these versions in `dist`, and a passing report on each in `reports`.
fn workplace(versions: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["wheels", "dist", "reports"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for name in ["rows.toml", "components.toml"] {
        fs::copy(Path::new(WHEELS).join(name), folder.path().join("wheels").join(name)).unwrap();
    }
    let components = component::load(&Path::new(WHEELS).join("components.toml")).unwrap();
    let rows = row::load(&Path::new(WHEELS).join("rows.toml"), &components).unwrap();
    let row = &rows["cpu"];
    for version in versions {
        let filename = format!("executorch_runtime-{version}-{}.whl", row.tag());
        let metadata = format!("Metadata-Version: 2.4\nName: executorch-runtime\nVersion: {version}\n");
        let path = format!("executorch_runtime-{version}.dist-info/METADATA");
        let file = archive::Entry { path, data: metadata.into_bytes(), executable: false };
        let bytes = archive::write(&[file]).unwrap();
        fs::write(folder.path().join("dist").join(&filename), &bytes).unwrap();
        let wheel = Wheel { sha256: sha256(&bytes), size: bytes.len() as u64, filename };
        for image in &row.gate_images {
            let name = format!("{version}-{image}.json");
            fs::write(folder.path().join("reports").join(name), report(&wheel, image)).unwrap();
        }
    }
    folder
}

fn report(wheel: &Wheel, image: &str) -> String {
    let check = Check {
        id: "elf.closure".to_owned(),
        title: "every needed library is there".to_owned(),
        group: "elf".to_owned(),
        outcome: Outcome::Pass,
        reason: String::new(),
        evidence: vec!["5 libraries".to_owned()],
        seconds: 0.1,
    };
    let report = Report {
        schema: SCHEMA.to_owned(),
        wheel: wheel.clone(),
        row: "cpu".to_owned(),
        image: image.to_owned(),
        machine: Machine::default(),
        started: "2026-03-01T10:00:00Z".to_owned(),
        seconds: 1.0,
        checks: vec![check],
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

/// The same in a bucket, whose server the programs find as S3 clients do.
#[cfg(feature = "s3")]
#[test]
fn the_example_of_the_document_in_a_bucket() {
    let folder = workplace(&["1.5.0", "1.5.1"]);
    let store = format!("s3://{}/of/the/document", bucket::BUCKET);
    let script = example().replace("--store site", &format!("--store {store}"));
    assert!(script.contains(&store));
    let output = bash(folder.path(), &script)
        .env("AWS_ENDPOINT", bucket::endpoint())
        .env("AWS_ALLOW_HTTP", "true")
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
wheelhouse index add --store site --row cpu dist/*.whl
wheelhouse sign --key lab.key reports/*.json
jobs=
for wheel in $(cd dist && ls); do
  for owner in ann bob; do
    wheelhouse approve $wheel $site --reports reports --key $owner.key --out approvals/$owner-$wheel.json
  done
done
for wheel in $(cd dist && ls); do
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
