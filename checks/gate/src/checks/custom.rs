//! What others build against the wheel: an operator, and a delegate in C that ships in a wheel of its own.

use crate::check::Check;
use crate::checks::cpp;
use crate::context::{Context, facts};
use crate::outcome::{Found, judge};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

const NEEDS: &[&str] = &["cpp.build"];

pub const CHECKS: &[Check] = &[
    Check {
        id: "custom.operator",
        title: "An operator that was built against the wheel appears when Python loads its library, and once only",
        needs: NEEDS,
        limit: 60,
        run: |context| context.script("custom_operator.py", &[&library(context, "operator")]),
    },
    Check {
        id: "custom.delegate_elf",
        title: "An out-of-tree delegate carries no runtime: it imports the registry, defines nothing of it, and has no RPATH",
        needs: NEEDS,
        limit: 60,
        run: delegate_elf,
    },
    Check {
        id: "custom.delegate",
        title: "An out-of-tree delegate is found by its entry point, joins the one registry, and runs its part of a program",
        needs: NEEDS,
        limit: 60,
        run: delegate,
    },
    Check {
        id: "custom.refused",
        title: "Delegates of another ABI, of a newer minor, and of another release in lockstep are refused with both versions",
        needs: NEEDS,
        limit: 60,
        run: refused,
    },
];

/// A library of `projects/cpp`.
pub fn library(context: &Context, name: &str) -> PathBuf {
    cpp::folder(context).join(format!("lib{name}.so"))
}

/// The case of the program with a part for the delegate.
pub fn suite(context: &Context) -> PathBuf {
    context.projects().join("delegate/delegate.json")
}

fn delegate_elf(context: &Context) -> Found {
    let facts = facts(&library(context, "delegate"))?;
    let mut findings = Vec::new();
    if let Some(name) =
        facts.exports.iter().find(|name| name.starts_with("et_") || name.starts_with("PyInit_"))
    {
        findings.push(format!("it defines {name}"));
    }
    if !facts.imports.iter().any(|import| import.name == "et_register_backend") {
        findings.push("it does not import et_register_backend".into());
    }
    if !facts.needed.iter().any(|name| name == "libexecutorch.so.1") {
        findings.push(format!("it does not need libexecutorch.so.1: {:?}", facts.needed));
    }
    if let Some(path) = facts.rpath {
        findings.push(format!("DT_RPATH {path}"));
    }
    judge(findings, vec![format!("needs {}", facts.needed.join(" "))])
}

/// Lays out an installed wheel of the delegate, with its entry point; returns its site folder.
fn install(context: &Context) -> Result<PathBuf> {
    let site = context.scratch("delegate-site")?;
    let (package, info) = (site.join("gate_delegate"), site.join("gate_delegate-1.0.dist-info"));
    fs::create_dir_all(&package)?;
    fs::create_dir_all(&info)?;
    fs::copy(library(context, "delegate"), package.join("libgate_delegate.so"))?;
    let load = "import ctypes\nimport os\n\n\ndef load():\n    \
        ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libgate_delegate.so'))\n";
    fs::write(package.join("__init__.py"), load)?;
    fs::write(info.join("METADATA"), "Metadata-Version: 2.1\nName: gate-delegate\nVersion: 1.0\n")?;
    fs::write(info.join("entry_points.txt"), "[executorch_runtime.delegates]\ndemo = gate_delegate:load\n")?;
    Ok(site)
}

fn delegate(context: &Context) -> Found {
    let site = install(context)?;
    context.script("delegate.py", &[&suite(context), &site])
}

fn refused(context: &Context) -> Found {
    let mut evidence = Vec::new();
    let release = context.input.gate.release();
    for (name, parts) in [
        ("another_abi", ["gate-delegate", "9"]),
        ("another_minor", ["gate-delegate", "900"]),
        ("another_release", ["0.0.7", release]),
    ] {
        let library = library(context, name);
        let [first, second] = parts.map(Path::new);
        evidence.extend(context.script("refused.py", &[&library, first, second])?);
    }
    Ok(evidence)
}
