//! `find_package(executorch)` as users call it. Nothing is compiled here.

use crate::check::Check;
use crate::clean;
use crate::context::{Context, copy_tree};
use crate::outcome::{Found, Stop, judge};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::elf::dotted;

const NEEDS: &[&str] = &["install.pinned"];

pub const CHECKS: &[Check] = &[
    Check {
        id: "cmake.version",
        title: "find_package accepts the releases that it should, refuses others, and tells the wheel's version",
        needs: NEEDS,
        limit: 60,
        run: version,
    },
    Check {
        id: "cmake.components",
        title: "Each of the row's components is a target; a missing one is refused by a message that names the wheel which has it",
        needs: NEEDS,
        limit: 60,
        run: components,
    },
    Check {
        id: "cmake.twice",
        title: "Finding the package twice in one project changes nothing",
        needs: NEEDS,
        limit: 60,
        run: twice,
    },
    Check {
        id: "cmake.without_python",
        title: "find_package needs no python3 on PATH",
        needs: NEEDS,
        limit: 60,
        run: without_python,
    },
    Check {
        id: "cmake.moved",
        title: "The CMake package works after the installed folder was moved, and points into the new one only",
        needs: NEEDS,
        limit: 60,
        run: moved,
    },
    Check {
        id: "cmake.own_libraries",
        title: "Libraries of the same name elsewhere on CMake's search path are not taken",
        needs: NEEDS,
        limit: 60,
        run: own_libraries,
    },
];

/// The oldest CMake that the package supports.
const FLOOR: (u32, u32) = (3, 19);

/// What CMake runs to configure and to build.
const TOOLS: [&str; 17] = [
    "ar",
    "as",
    "c++",
    "cat",
    "cc",
    "cmake",
    "env",
    "g++",
    "gcc",
    "ld",
    "make",
    "nm",
    "pkg-config",
    "ranlib",
    "sh",
    "strip",
    "uname",
];

/// CMake, if it is there and new enough; otherwise the reason to skip.
pub fn usable(context: &Context) -> Result<(PathBuf, String), Stop> {
    let cmake = context.find("cmake").ok_or_else(|| Stop::skip("the machine has no cmake"))?;
    let text = clean::output(context.command(&cmake).arg("--version"))?;
    let version = text.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap_or_default().to_owned();
    match dotted(&version) {
        Some(number) if number >= FLOOR => Ok((cmake, version)),
        _ => Err(Stop::skip(format!(
            "the machine has cmake {version}, the package needs {}.{}",
            FLOOR.0, FLOOR.1
        ))),
    }
}

/// Configures `projects/find` with `arguments` of `find_package`, against the package at `prefix`.
fn find(context: &Context, prefix: &Path, arguments: &str, more: &[&str]) -> Result<Command, Stop> {
    let (cmake, _) = usable(context)?;
    // Each check is a process of its own, and several run at once.
    let build = context.scratch(&format!("find-{}", std::process::id()))?;
    let mut command = context.command(cmake);
    command.arg("-S").arg(context.projects().join("find")).arg("-B").arg(build);
    command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    command.arg(format!("-Darguments={}", arguments.replace(' ', ";"))).args(more);
    Ok(command)
}

/// The lines that the project prints for `name`.
fn told<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix("-- ")?.strip_prefix(name)?.strip_prefix(' ')).collect()
}

fn version(context: &Context) -> Found {
    let package = context.package()?;
    let full = &context.input.gate.version;
    let release = full.split('+').next().unwrap_or_default();
    let (major, minor) = dotted(release).with_context(|| format!("{full} is no version"))?;
    let mut evidence = Vec::new();
    let accepted = [
        String::new(),
        format!("{major}.{minor}"),
        format!("{release} EXACT"),
        format!("{major}.0"),
        format!("{major}.{minor}...{}.0", major + 1),
    ];
    for request in accepted {
        let text = clean::output(&mut find(context, &package, &request, &[])?)?;
        let version = told(&text, "version");
        if version != [full.as_str()] {
            return Err(anyhow::anyhow!("EXECUTORCH_BUILD_VERSION is {version:?}, expected {full}").into());
        }
        evidence.push(format!("find_package(executorch {request}): found {full}"));
    }
    let refused = [
        format!("{}.0", major + 1),
        format!("{major}.{}", minor + 1),
        format!("{}.{minor}", major.saturating_sub(1)),
        format!("{major}.0...<{major}.{minor}"),
    ];
    for request in refused {
        let text = clean::refusal(&mut find(context, &package, &request, &[])?)?;
        if !text.contains("not found") {
            return Err(anyhow::anyhow!("{request} was refused for another reason:\n{text}").into());
        }
        evidence.push(format!("find_package(executorch {request}): refused"));
    }
    Ok(evidence)
}

fn components(context: &Context) -> Found {
    let package = context.package()?;
    let names: Vec<&str> = context
        .input
        .row
        .components
        .iter()
        .filter_map(|name| context.input.components.get(name.as_str()))
        .flat_map(|component| component.cmake.iter().map(String::as_str))
        .collect();
    let request = format!("COMPONENTS {}", names.join(" "));
    let text = clean::output(&mut find(context, &package, &request, &[])?)?;
    let mut evidence = vec![format!("found {}", names.join(" "))];
    let locations = told(&text, "location");
    let mut findings: Vec<String> = locations
        .iter()
        .filter(|location| !Path::new(location).is_file() || !Path::new(location).starts_with(&package))
        .map(|location| format!("{location} is no library of the wheel"))
        .collect();
    if locations.is_empty() {
        findings.push("EXECUTORCH_LIBRARIES is empty".into());
    }
    let missing =
        clean::refusal(&mut find(context, &package, "COMPONENTS runtime gate_knows_no_such", &[])?)?;
    for part in ["gate_knows_no_such", "is not in this wheel", "executorch-runtime+"] {
        // CMake breaks lines.
        if !missing.split_whitespace().collect::<Vec<_>>().join(" ").contains(part) {
            findings.push(format!("the message about a missing component does not say {part:?}: {missing}"));
        }
    }
    evidence.push("a missing component is refused with the name of the wheel that has it".into());
    clean::output(&mut find(context, &package, "OPTIONAL_COMPONENTS gate_knows_no_such", &[])?)?;
    evidence.push("an optional one may be missing".into());
    judge(findings, evidence)
}

fn twice(context: &Context) -> Found {
    let text = clean::output(&mut find(context, &context.package()?, "", &["-Dtwice=ON"])?)?;
    Ok(vec![format!("both times {}", told(&text, "libraries").join(" "))])
}

fn without_python(context: &Context) -> Found {
    usable(context)?;
    // A PATH with what CMake may ask for, and without Python.
    let folder = context.scratch("without-python")?;
    for name in TOOLS {
        if let Some(path) = context.find(name) {
            std::os::unix::fs::symlink(path, folder.join(name))?;
        }
    }
    let python =
        clean::run(context.command("/bin/sh").args(["-c", "command -v python3"]).env("PATH", &folder))?;
    let found = clean::both(&python);
    let reached = !python.status.success() && found.trim().is_empty();
    if !reached {
        return Err(anyhow::anyhow!("python3 is still found: {found}").into());
    }
    let mut command = find(context, &context.package()?, "", &[])?;
    let text = clean::output(command.env("PATH", &folder))?;
    Ok(vec![format!("found {} without python3", told(&text, "version").join(" "))])
}

fn moved(context: &Context) -> Found {
    usable(context)?;
    let copy = context.scratch("moved cmake/with a space")?.join("package");
    copy_tree(&context.package()?, &copy)?;
    let text = clean::output(&mut find(context, &copy, "", &[])?)?;
    let places: Vec<&str> = [told(&text, "location"), told(&text, "includes")].concat();
    let strangers: Vec<String> = places
        .iter()
        .filter(|place| !Path::new(place).starts_with(&copy) || !Path::new(place).exists())
        .map(|place| format!("{place} is not in the moved package"))
        .collect();
    judge(strangers, vec![format!("{} paths, all in the moved package", places.len())])
}

fn own_libraries(context: &Context) -> Found {
    usable(context)?;
    let (package, decoy) = (context.package()?, context.scratch("decoy-libraries")?);
    fs::create_dir_all(decoy.join("lib"))?;
    for library in context.libraries()? {
        let name = library.path.file_name().context("a library without a name")?;
        fs::write(decoy.join("lib").join(name), "not a library")?;
    }
    // The decoy comes first on both search paths.
    let more = [format!("-DCMAKE_LIBRARY_PATH={}", decoy.join("lib").display())];
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let prefix = format!("{};{}", decoy.display(), package.display());
    let text = clean::output(&mut find(context, Path::new(&prefix), "", &more)?)?;
    let locations = told(&text, "location");
    let taken = locations.iter().filter(|location| Path::new(location).starts_with(&decoy));
    let taken: Vec<String> = taken.map(|location| format!("{location} was taken")).collect();
    judge(taken, vec![format!("{} libraries, all of the wheel", locations.len())])
}

/// Fails with CMake's output where a configure or build step does.
pub fn build(context: &Context, source: &Path, build: &Path, options: &[String]) -> Result<(), Stop> {
    let (cmake, _) = usable(context)?;
    let package = context.package()?;
    let mut configure = context.command(&cmake);
    configure.arg("-S").arg(source).arg("-B").arg(build).args(options);
    configure.arg("-DCMAKE_BUILD_TYPE=Release");
    clean::output(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", package.display())))?;
    clean::output(context.command(&cmake).arg("--build").arg(build).args(["--parallel", "2"]))?;
    Ok(())
}

/// Fails unless `path` is there.
pub fn expect_file(path: &Path) -> Result<()> {
    ensure!(path.is_file(), "{} was not built", path.display());
    Ok(())
}
