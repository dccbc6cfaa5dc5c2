//! `cargo xtask gate ROW`: hands the wheel, two indexes and the gate to a clean machine, and judges the report.

use crate::place::Place;
use crate::{fakes, nvidia, wheel, wheelhouse};
use ::wheelhouse::component;
use ::wheelhouse::row::{self, Row};
use anyhow::{Context, Result, bail, ensure};
use executorch_gate_report::{Report, Rules, Verdict};
use executorch_tools::command::{output, run, step};
use executorch_tools::{Program, ensure as ensure_programs};
use executorch_vm::{Image, Job, Machine, Settings, to_stderr};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The gate's program inside of the input folder.
const PROGRAM: &str = "executorch-gate";
/// The index that users name first, and the one with a newer release that must not win.
const INDEX: &str = "staging";
const DECOY: &str = "decoy";
/// Libraries that stand in for NVIDIA's.
const FAKES: &str = "fakes";
/// Newer than every release, so that it wins wherever no release is pinned.
const DECOY_VERSION: &str = "999.0.0";

/// Reference programs, by the folder in `checks/conformance`.
const MODELS: [(&str, &[&str]); 2] = [
    (
        "programs",
        &[
            "attention",
            "cnn",
            "cond",
            "conv1d",
            "dynamic_mlp",
            "external_weights",
            "integers",
            "mlp_bf16",
            "mlp_f16",
            "scalar_inputs",
            "state_counter",
        ],
    ),
    ("xnnpack", &["xnn_dynamic_batch", "xnn_external", "xnn_mixed", "xnn_shared", "xnn_static_integers"]),
];

/// What the row lets the machine skip. This one, which no promotion asks for, may also be without NumPy.
fn skips(row: &Row, image: &str) -> Vec<String> {
    let mut names = row.skips(image);
    if image == HERE {
        names.push("python.numpy".into());
    }
    names
}

/// What reports call this machine.
const HERE: &str = "here";

/// What the checks call of this machine; images have it.
const PROGRAMS: [Program; 5] = [
    ("c++", "g++"),
    ("cmake", "cmake"),
    ("make", "make"),
    ("pip3", "python3-pip"),
    ("pkg-config", "pkg-config"),
];

/// What to try where.
pub struct Request {
    /// The row.
    pub row: String,
    /// The image; none for this machine in namespaces of its own.
    pub image: Option<String>,
    /// The wheel; none to build it.
    pub wheel: Option<PathBuf>,
    /// New folder for the report and the logs.
    pub out: Option<PathBuf>,
    /// Checks to run instead of all.
    pub only: Vec<String>,
}

impl Request {
    /// All checks on the wheel of `row`, on this machine.
    pub fn here(row: &str) -> Self {
        Self { row: row.to_owned(), image: None, wheel: None, out: None, only: Vec::new() }
    }
}

/// Where all of a row on an image lies.
fn folder(place: &Place, row: &str, image: Option<&Image>) -> PathBuf {
    place.target.join("gate").join(format!("{row}-{}", name(image)))
}

/// What reports call an image.
fn name(image: Option<&Image>) -> String {
    image.map_or_else(|| HERE.to_owned(), Image::name)
}

/// The input folder that [`gate`] writes for a row on an image.
pub fn input(place: &Place, row: &str, image: Option<&Image>) -> PathBuf {
    folder(place, row, image).join("input")
}

/// What others have built or downloaded for the gate.
pub struct Made {
    /// The wheel.
    pub wheel: PathBuf,
    /// The `wheelhouse` command.
    pub wheelhouse: PathBuf,
    /// For rows with CUDA, the folder with what stands in for NVIDIA's libraries.
    pub fakes: Option<PathBuf>,
    /// The wheels that the row depends on.
    pub dependencies: Vec<PathBuf>,
}

/// Fills a new folder with what the gate is handed on `image`, but for its program.
pub fn fill(place: &Place, name: &str, image: &str, made: &Made, folder: &Path) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    let row = row::find(&rows, name)?;
    let rules = Rules::of(&row.components, skips(row, image));
    for pin in nvidia::pins(&place.root, row)? {
        let given = |path: &PathBuf| path.file_name().is_some_and(|name| name == pin.file.as_str());
        ensure!(made.dependencies.iter().any(given), "row `{name}`: give --dependency with {}", pin.file);
    }
    let (wheel, wheelhouse, dependencies) = (&made.wheel, &made.wheelhouse, &made.dependencies);
    let patience = EMULATED;
    Input { place, name, image, wheel, rules: &rules, patience, wheelhouse, dependencies }.write(folder)?;
    match &made.fakes {
        Some(fakes) => copy_tree(fakes, &folder.join(FAKES)),
        None => {
            ensure!(
                row.cuda.is_none(),
                "row `{name}` has CUDA: give --fakes, a folder that `xtask fakes` has filled"
            );
            Ok(())
        }
    }
}

/// How much longer than here things may take in an emulated machine.
const EMULATED: f64 = 20.0;

/// Runs the gate; fails unless the report passes. Prints the report's path.
pub fn gate(place: &Place, request: &Request) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    let row = row::find(&rows, &request.row)?;
    let image = request.image.as_deref().map(str::parse::<Image>).transpose()?;
    let name = name(image.as_ref());
    let wheel = match &request.wheel {
        Some(path) => path.clone(),
        None => wheel::build(place, &request.row, &place.root.join("dist"))?,
    };
    let folder = folder(place, &request.row, image.as_ref());
    let out = request.out.clone().unwrap_or_else(|| folder.join("out"));
    let input = folder.join("input");
    let mut rules = Rules::of(&row.components, skips(row, &name));
    if !request.only.is_empty() {
        rules.required.clear();
    }
    for old in [&input, &out] {
        if old.exists() && request.out.as_ref() != Some(old) {
            fs::remove_dir_all(old).with_context(|| old.display().to_string())?;
        }
    }
    let patience = if image.is_some() { EMULATED } else { 2.0 };
    let wheelhouse = wheelhouse::program(place)?;
    let filled = Input {
        place,
        name: &request.row,
        image: &name,
        wheel: &wheel,
        rules: &rules,
        patience,
        wheelhouse: &wheelhouse,
        dependencies: &nvidia::wheels(place, row)?,
    };
    filled.write(&input)?;
    if row.cuda.is_some() {
        step("build the stand-ins for CUDA", || fakes::build(place, row, &input.join(FAKES)))?;
    }
    step("build the gate", || program(place, row.system.arch(), &input.join(PROGRAM)))?;

    let settings = Settings::from_environment(place.target.join("vm"));
    let machine = match image {
        Some(image) => image.prepare(&settings, &to_stderr)?,
        None => {
            ensure_programs(&PROGRAMS)?;
            Machine::here()?
        }
    };
    let mut command = format!("/job/{PROGRAM} run /job --out /results");
    for check in &request.only {
        ensure!(
            check.bytes().all(|b| b.is_ascii_alphanumeric() || b"._*".contains(&b)),
            "no check `{check}`"
        );
        command += &format!(" --only '{check}'");
    }
    let job = Job { timeout: Duration::from_secs(3600), ..Job::new(input, command, out) };
    let outcome = step(&format!("gate {} on {name}", request.row), || Ok(machine.run(&job, &to_stderr)?))?;
    let report = Report::parse(&fs::read(&outcome.report)?, &rules)?;
    print!("{}", fs::read_to_string(outcome.results.join("report.txt"))?);
    let digest = wheel::file_digest(&wheel)?;
    ensure!(report.wheel.sha256 == digest, "the report is on another wheel: {}", report.wheel.sha256);
    ensure!(
        report.row == request.row && report.image == name,
        "the report is on {} on {}",
        report.row,
        report.image
    );
    println!("{}", outcome.report.display());
    match report.verdict {
        Verdict::Pass => Ok(()),
        Verdict::Fail => bail!("{} did not pass the gate on {name}", wheel.display()),
    }
}

/// Builds the static program, which needs nothing of the machine, neither a loader nor a glibc: with musl, or with the
/// static glibc of this machine where rustup has no standard library for musl.
fn program(place: &Place, arch: &str, to: &Path) -> Result<()> {
    let musl = format!("{arch}-unknown-linux-musl");
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&place.root).env("CARGO_TARGET_DIR", &place.target);
    let added = Command::new("rustup").args(["target", "add", &musl]).current_dir(&place.root).status();
    let target = if added.is_ok_and(|status| status.success()) {
        // Rust brings musl's objects along; its own linker suffices, for the other architecture too.
        let variable = musl.replace('-', "_").to_uppercase();
        cargo.env(format!("CARGO_TARGET_{variable}_LINKER"), "rust-lld");
        musl
    } else {
        ensure!(
            arch == std::env::consts::ARCH,
            "the gate for {arch} needs Rust's standard library for {musl}"
        );
        eprintln!("xtask: there is no {musl}: the gate is linked with this machine's static glibc");
        cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
        format!("{arch}-unknown-linux-gnu")
    };
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "xtask",
        "--package",
        PROGRAM,
        "--target",
        &target,
    ]);
    run(&mut cargo)?;
    let built = place.target.join(target).join("xtask").join(PROGRAM);
    fs::copy(&built, to).map(drop).with_context(|| built.display().to_string())
}

/// The input folder that `checks/gate/src/input.rs` describes.
struct Input<'a> {
    place: &'a Place,
    name: &'a str,
    image: &'a str,
    wheel: &'a Path,
    rules: &'a Rules,
    patience: f64,
    wheelhouse: &'a Path,
    dependencies: &'a [PathBuf],
}

impl Input<'_> {
    fn write(&self, folder: &Path) -> Result<()> {
        let root = &self.place.root;
        let file = self.wheel.file_name().and_then(|name| name.to_str());
        let file = file.with_context(|| format!("{} has no name", self.wheel.display()))?;
        let version = file.split('-').nth(1).with_context(|| format!("{file} is no wheel's name"))?;
        for name in ["rows.toml", "components.toml"] {
            copy(&root.join("wheels").join(name), &folder.join(name))?;
        }
        copy(&root.join("README.md"), &folder.join("README.md"))?;
        copy(&root.join("examples/digits/digits.pte"), &folder.join("examples/digits/digits.pte"))?;
        copy_tree(&root.join("checks/gate/projects"), &folder.join("projects"))?;
        copy_tree(&root.join("delegates/sdk/examples/c"), &folder.join("projects/delegate"))?;
        copy_tree(&root.join("checks/conformance/delegates"), &folder.join("projects/delegate"))?;
        let cuda = folder.join("projects/cuda");
        // One that is loaded without a GPU, to be refused, and one whose compiled model the gate makes, which finds all these functions.
        for name in [
            "cuda_rows.pte",
            "cuda_rows.ptd",
            "cuda_gate.pte",
            "cuda_gate.ptd",
            "cuda_gate.json",
            "cuda_gate.npz",
        ] {
            copy(&root.join("checks/conformance/cuda").join(name), &cuda.join(name))?;
        }
        copy(&root.join("delegates/cuda/shims/functions.h"), &cuda.join("functions.h"))?;
        for (from, programs) in MODELS {
            for program in programs {
                for extension in ["pte", "json", "npz", "ptd"] {
                    let name = format!("{program}.{extension}");
                    let path = root.join("checks/conformance").join(from).join(&name);
                    if path.exists() || extension != "ptd" {
                        copy(&path, &folder.join("models").join(name))?;
                    }
                }
            }
        }
        let digest = wheel::file_digest(self.wheel)?;
        add(self.wheelhouse, &folder.join("index"), self.name, self.wheel)?;
        decoy(self.wheelhouse, folder, self.name, self.dependencies)?;
        let list = |names: &[String]| format!("{names:?}");
        let gate = format!(
            "row = {:?}\nversion = {version:?}\nwheel = {file:?}\nsha256 = {digest:?}\nimage = {:?}\nindex = {INDEX:?}\n\
             decoy = {DECOY:?}\ndecoy-version = {DECOY_VERSION:?}\npatience = {:?}\n\n[rules]\nskips = {}\nabsent = {}\nrequired = {}\n",
            self.name,
            self.image,
            self.patience,
            list(&self.rules.skips),
            list(&self.rules.absent),
            list(&self.rules.required),
        );
        Ok(fs::write(folder.join("gate.toml"), gate)?)
    }
}

/// Puts a wheel into the staging index of a store, as the release train does.
fn add(program: &Path, store: &Path, row: &str, wheel: &Path) -> Result<()> {
    fs::create_dir_all(store)?;
    let mut command = Command::new(program);
    command.args(["index", "add", "--row", row, "--store"]).arg(store).arg(wheel);
    output(&mut command).map(drop)
}

/// A second index, as PyPI is one: with what the row depends on, and a wheel that is newer than ours and holds nothing.
fn decoy(program: &Path, folder: &Path, name: &str, dependencies: &[PathBuf]) -> Result<()> {
    let stem = format!("executorch_runtime-{DECOY_VERSION}");
    let store = folder.join(DECOY);
    fs::create_dir_all(&store)?;
    let path = store.join(format!("{stem}-py3-none-any.whl"));
    let mut zip = zip::ZipWriter::new(fs::File::create(&path)?);
    let metadata = format!(
        "Metadata-Version: 2.1\nName: executorch-runtime\nVersion: {DECOY_VERSION}\nRequires-Python: >=3.8\n"
    );
    let wheel = "Wheel-Version: 1.0\nGenerator: decoy\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    for (name, text) in [("METADATA", metadata.as_str()), ("WHEEL", wheel), ("RECORD", "")] {
        zip.start_file(format!("{stem}.dist-info/{name}"), zip::write::SimpleFileOptions::default())?;
        zip.write_all(text.as_bytes())?;
    }
    zip.finish()?;
    add(program, &store, name, &path)?;
    for wheel in dependencies {
        add(program, &store, name, wheel)?;
    }
    fs::rename(store.join(INDEX), folder.join("index").join(DECOY))?;
    fs::remove_dir_all(&store).with_context(|| store.display().to_string())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("no folder")?)?;
    fs::copy(from, to).map(drop).with_context(|| from.display().to_string())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let target = to.join(path.file_name().context("no name")?);
        if !path.is_dir() {
            copy(&path, &target)?;
        } else if path.file_name().is_some_and(|name| name != "__pycache__") {
            copy_tree(&path, &target)?;
        }
    }
    Ok(())
}
