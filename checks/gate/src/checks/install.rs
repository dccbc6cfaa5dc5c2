//! The wheel as pip installs it.

use crate::check::Check;
use crate::clean;
use crate::context::{Context, files};
use crate::outcome::{Found, judge};
use anyhow::{Context as _, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::elf;

pub const CHECKS: &[Check] = &[
    Check {
        id: "install.machine",
        title: "The machine is clean: no loader overrides, no settings of Python or pip, and no installed copy of the package",
        needs: &[],
        limit: 60,
        run: machine,
    },
    Check {
        id: "install.pinned",
        title: "pip installs the pinned release from the row's index; a newer one on the second index does not win",
        needs: &[],
        limit: 120,
        run: pinned,
    },
    Check {
        id: "install.floor",
        title: "pip refuses the wheel for a Python below the row's floor",
        needs: &[],
        limit: 60,
        run: floor,
    },
    Check {
        id: "install.record",
        title: "Every installed file has the size and digest that RECORD gives, and RECORD lists every file",
        needs: &["install.pinned"],
        limit: 60,
        run: record,
    },
    Check {
        id: "install.metadata",
        title: "Version, tag, Python floor and declared dependencies are the row's, and nothing else was installed",
        needs: &["install.pinned"],
        limit: 60,
        run: metadata,
    },
    Check {
        id: "install.size",
        title: "The wheel and each library keep their size budgets",
        needs: &["install.pinned"],
        limit: 60,
        run: size,
    },
];

const PROJECT: &str = "executorch-runtime";

/// Variables that change what programs load or find.
const OVERRIDES: [&str; 8] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LD_AUDIT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PIP_INDEX_URL",
    "CMAKE_PREFIX_PATH",
    "EXECUTORCH_NATIVE_CACHE",
];

fn machine(context: &Context) -> Found {
    let set = OVERRIDES.iter().filter(|name| std::env::var_os(name).is_some());
    let mut findings: Vec<String> = set.map(|name| format!("{name} is set")).collect();
    let script = "import importlib.util as u, sys; \
        print(*[n for n in ('executorch_runtime', 'executorch', 'torch') if u.find_spec(n)]); print(sys.prefix)";
    let text = clean::output(context.command("python3").args(["-c", script]))?;
    let found = text.lines().next().unwrap_or_default();
    if !found.is_empty() {
        findings.push(format!("python3 has {found} before the wheel is installed"));
    }
    let tools = ["python3", "g++", "cmake", "pkg-config", "cargo", "rustc", "nvcc"];
    let tools: Vec<&str> = tools.into_iter().filter(|tool| context.find(tool).is_some()).collect();
    let (major, minor) = context.python_version()?;
    judge(findings, vec![format!("Python {major}.{minor}; programs: {}", tools.join(" "))])
}

/// pip, without settings of the machine.
fn pip(context: &Context, python: &Path) -> Command {
    let mut pip = context.command(python);
    pip.args(["-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir"]);
    pip
}

/// Makes a virtual environment; returns pip for it. The machine's own pip serves, if it can install into another
/// environment: bringing pip into each is most of the work of making one.
fn environment(context: &Context, system: &Path) -> Result<Command> {
    const OTHER_ENVIRONMENTS: (u32, u32) = (22, 3);
    let venv = context.scratch("venv")?;
    let told = clean::output(pip(context, system).arg("--version"))?;
    let version = told.split_whitespace().nth(1).and_then(elf::dotted);
    let mut make = context.command(system);
    make.args(["-m", "venv"]);
    if version.is_some_and(|version| version >= OTHER_ENVIRONMENTS) {
        clean::output(make.arg("--without-pip").arg(&venv))?;
        let mut pip = pip(context, system);
        pip.arg("--python").arg(venv.join("bin/python"));
        return Ok(pip);
    }
    clean::output(make.arg(&venv))?;
    Ok(pip(context, &venv.join("bin/python")))
}

/// The two indexes as the README names them: the row's first, then the other.
fn indexes(context: &Context) -> [String; 4] {
    let (base, gate) = (&context.state.indexes, &context.input.gate);
    [
        "--index-url".into(),
        format!("{base}/{}/simple/", gate.index),
        "--extra-index-url".into(),
        format!("{base}/{}/simple/", gate.decoy),
    ]
}

/// pip's arguments to take files for another Python than the one that runs it.
fn for_python(context: &Context, minor: u32) -> [String; 7] {
    [
        "--only-binary=:all:".into(),
        "--no-deps".into(),
        format!("--platform={}", context.input.row.platform),
        "--implementation=cp".into(),
        format!("--python-version=3.{minor}"),
        "--abi=abi3".into(),
        "--abi=none".into(),
    ]
}

fn pinned(context: &Context) -> Found {
    let gate = &context.input.gate;
    let pin = format!("{PROJECT}=={}", gate.version);
    let mut evidence = vec![format!("{PROJECT}=={}, {}", gate.version, indexes(context).join(" "))];
    let ((_, minor), (_, floor)) = (context.python_version()?, context.python_floor()?);
    let system = context.find("python3").context("no python3")?;
    let taken = if minor < floor {
        let tree = context.scratch("tree")?;
        let mut pip = pip(context, &system);
        pip.arg("install").args(indexes(context)).args(for_python(context, floor));
        evidence.push(format!("the machine has Python 3.{minor}: installed for 3.{floor} into a folder"));
        // A pip as old as that Python compares the wheel's floor with its own Python, not with the one that it was told.
        pip.arg("--ignore-requires-python").arg("--target").arg(&tree).arg(&pin);
        clean::output(&mut pip)?
    } else {
        let mut pip = environment(context, &system)?;
        clean::output(pip.arg("install").args(indexes(context)).arg(&pin))?
    };
    let installed = format!("executorch_runtime-{}.dist-info", gate.version);
    let site = context.site()?;
    if !site.join(&installed).is_dir() {
        return Err(anyhow::anyhow!("{installed} is not there; pip said:\n{taken}").into());
    }
    if taken.contains(&gate.decoy_version) {
        return Err(anyhow::anyhow!("the decoy {} was considered:\n{taken}", gate.decoy_version).into());
    }
    evidence.push(format!("installed {installed}"));
    // The decoy is a real one: without the pin, it is what pip takes.
    let folder = context.scratch("unpinned")?;
    let mut pip = pip(context, &system);
    pip.arg("download").args(indexes(context)).args(for_python(context, floor.max(minor)));
    clean::output(pip.arg("--dest").arg(&folder).arg(PROJECT))?;
    let names: Vec<String> = files(&folder)?.iter().map(|name| name.display().to_string()).collect();
    if !names.iter().any(|name| name.contains(&gate.decoy_version)) {
        return Err(
            anyhow::anyhow!("without a pin pip takes {names:?}, not the decoy: it tempts nobody").into()
        );
    }
    evidence.push(format!("without the pin pip takes {}", names.join(" ")));
    Ok(evidence)
}

fn floor(context: &Context) -> Found {
    let (_, floor) = context.python_floor()?;
    let system = context.find("python3").context("no python3")?;
    let below = floor.checked_sub(1).context("the row's floor is Python 3.0")?;
    let folder = context.scratch("floor")?;
    let mut pip = pip(context, &system);
    pip.arg("download").args(indexes(context)).args(for_python(context, below));
    pip.arg("--dest").arg(&folder).arg(format!("{PROJECT}=={}", context.input.gate.version));
    let text = clean::refusal(&mut pip)?;
    let told = text.lines().find(|line| line.contains("No matching distribution"));
    let told = told.with_context(|| format!("pip did not say that nothing matches:\n{text}"))?;
    Ok(vec![format!("for Python 3.{below}: {told}")])
}

/// The folder `….dist-info`.
fn dist_info(context: &Context) -> Result<PathBuf> {
    Ok(context.site()?.join(format!("executorch_runtime-{}.dist-info", context.input.gate.version)))
}

fn record(context: &Context) -> Found {
    let (site, info) = (context.site()?, dist_info(context)?);
    let text = fs::read_to_string(info.join("RECORD")).context("RECORD")?;
    let mut findings = Vec::new();
    let mut listed = BTreeSet::new();
    for line in text.lines() {
        let entry = Entry::parse(line)?;
        // pip adds what it made itself, outside of the package too: the command, compiled files.
        let Some((digest, size)) = entry.digest else { continue };
        if entry.path.starts_with("../") {
            continue;
        }
        let bytes = fs::read(site.join(&entry.path)).with_context(|| format!("RECORD lists {}", entry.path));
        match bytes {
            Err(error) => findings.push(format!("{error:#}")),
            Ok(bytes) => {
                let found = URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
                if found != digest || bytes.len().to_string() != size {
                    findings.push(format!(
                        "{}: RECORD gives {digest} and {size} bytes, found {found} and {}",
                        entry.path,
                        bytes.len()
                    ));
                }
            }
        }
        listed.insert(PathBuf::from(entry.path));
    }
    for path in files(&context.package()?)? {
        let path = Path::new("executorch_runtime").join(path);
        let compiled = path.components().any(|part| part.as_os_str() == "__pycache__");
        if !compiled && !listed.contains(&path) {
            findings.push(format!("{} is not in RECORD", path.display()));
        }
    }
    if listed.len() < 50 {
        findings.push(format!("RECORD lists {} files with digests", listed.len()));
    }
    judge(findings, vec![format!("{} files with the digests of RECORD", listed.len())])
}

/// A line of RECORD.
struct Entry {
    path: String,
    digest: Option<(String, String)>,
}

impl Entry {
    fn parse(line: &str) -> Result<Self> {
        let mut fields = line.rsplitn(3, ',');
        let (Some(size), Some(digest), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            bail!("RECORD: {line:?} has no three fields");
        };
        let path = path.trim_matches('"').to_owned();
        if digest.is_empty() {
            return Ok(Self { path, digest: None });
        }
        let digest =
            digest.strip_prefix("sha256=").with_context(|| format!("RECORD: {line:?}: no sha256"))?;
        Ok(Self { path, digest: Some((digest.to_owned(), size.to_owned())) })
    }
}

/// The values of a header in METADATA or WHEEL.
fn headers<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let head = text.split("\n\n").next().unwrap_or_default();
    head.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn metadata(context: &Context) -> Found {
    let (row, gate, info) = (&context.input.row, &context.input.gate, dist_info(context)?);
    let read = |name: &str| fs::read_to_string(info.join(name)).with_context(|| name.to_owned());
    let (metadata, wheel) = (read("METADATA")?, read("WHEEL")?);
    let tag = row.tag().to_string();
    let floor = format!(">={}", row.requires_python()?);
    let mut findings = Vec::new();
    let mut expect = |what: &str, found: Vec<&str>, expected: Vec<&str>| {
        if found != expected {
            findings.push(format!("{what}: expected {expected:?}, found {found:?}"));
        }
    };
    expect("Name", headers(&metadata, "Name").collect(), vec![PROJECT]);
    expect("Version", headers(&metadata, "Version").collect(), vec![&gate.version]);
    expect("Requires-Python", headers(&metadata, "Requires-Python").collect(), vec![&floor]);
    let declared: Vec<&str> = row.dependencies.iter().map(String::as_str).collect();
    expect("Requires-Dist", headers(&metadata, "Requires-Dist").collect(), declared);
    expect("Tag", headers(&wheel, "Tag").collect(), vec![&tag]);
    expect("Root-Is-Purelib", headers(&wheel, "Root-Is-Purelib").collect(), vec!["false"]);
    let label = gate.version.split_once('+').map_or("", |(_, label)| label);
    expect("local label", vec![label], vec![&row.label]);
    let name = gate.wheel.ends_with(&format!("-{tag}.whl"));
    expect("file name", vec![if name { "" } else { &gate.wheel }], vec![""]);
    let site = context.site()?;
    let mut others = Vec::new();
    for entry in fs::read_dir(&site)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let own = name.starts_with("executorch_runtime");
        let of_venv =
            ["pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-", "__pycache__", "bin"];
        if !own && !of_venv.iter().any(|known| name.starts_with(known)) {
            others.push(name);
        }
    }
    // What a row depends on is checked where the row has dependencies.
    if row.dependencies.is_empty() && !others.is_empty() {
        findings.push(format!("also installed: {}", others.join(" ")));
    }
    judge(
        findings,
        vec![format!(
            "{PROJECT} {} {tag}, Python {floor}, {} dependencies",
            gate.version,
            row.dependencies.len()
        )],
    )
}

fn size(context: &Context) -> Found {
    let (row, gate) = (&context.input.row, &context.input.gate);
    let budget = |name: &str| row.budget.get(name).copied().unwrap_or(0);
    let path = context.state.input.join("index").join(&gate.index).join(&gate.wheel);
    let wheel = fs::metadata(&path).with_context(|| path.display().to_string())?.len();
    let mut sizes = vec![("wheel".to_owned(), wheel)];
    for name in &row.components {
        let component = context.input.components.get(name.as_str()).context("an unknown component")?;
        let path = context.package()?.join(&component.path);
        sizes.push((name.clone(), fs::metadata(&path).with_context(|| path.display().to_string())?.len()));
    }
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    for (name, size) in sizes {
        let budget = budget(&name);
        evidence.push(format!("{name}: {size} of {budget} bytes"));
        if size > budget {
            findings.push(format!("{name}: {size} bytes, budget {budget}"));
        }
    }
    judge(findings, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_record_are_read() {
        let entry = Entry::parse("a/b.py,sha256=abc,12").unwrap();
        assert_eq!((entry.path.as_str(), entry.digest), ("a/b.py", Some(("abc".into(), "12".into()))));
        assert_eq!(Entry::parse("\"a,b\",,").unwrap().path, "a,b");
        assert!(Entry::parse("a,b").is_err() && Entry::parse("a,md5=x,1").is_err());
    }

    #[test]
    fn only_the_head_has_headers() {
        let text = "Name: a\nTag: x\nTag: y\n\nName: b\n";
        assert_eq!(headers(text, "Tag").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(headers(text, "Name").collect::<Vec<_>>(), ["a"]);
    }
}
