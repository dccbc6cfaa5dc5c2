//! The libraries as they are installed. Nothing here trusts the audit of the wheel: it looks again, by its own rules.

use crate::check::Check;
use crate::clean;
use crate::context::{Context, Library, copy_tree, files};
use crate::outcome::{Found, judge};
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use wheelhouse::audit::traces_in;
use wheelhouse::elf::{self, dotted};
use wheelhouse::row::System;

pub const CHECKS: &[Check] = &[
    Check {
        id: "elf.inventory",
        title: "The installed libraries are the row's, and each SONAME is its file's name",
        needs: &["install.pinned"],
        limit: 60,
        run: inventory,
    },
    Check {
        id: "elf.paths",
        title: "Libraries find each other by RUNPATH below $ORIGIN only; no DT_RPATH, no path of the build machine",
        needs: &["install.pinned"],
        limit: 60,
        run: paths,
    },
    Check {
        id: "elf.ceiling",
        title: "No library needs a glibc newer than the row's floor, nor libstdc++ or libgcc_s, for the row's machine",
        needs: &["install.pinned"],
        limit: 60,
        run: ceiling,
    },
    Check {
        id: "elf.closure",
        title: "Every needed library is the system's or in the wheel, and every et_ import is exported by one that is needed",
        needs: &["install.pinned"],
        limit: 60,
        run: closure,
    },
    Check {
        id: "elf.owners",
        title: "Each exported symbol has one owner: the registry libexecutorch, the pool libexecutorch_threadpool; the rest export nothing",
        needs: &["install.pinned"],
        limit: 60,
        run: owners,
    },
    Check {
        id: "elf.load",
        title: "Each library loads in a process of its own, with every symbol bound at once",
        needs: &["install.pinned"],
        limit: 60,
        run: load,
    },
    Check {
        id: "elf.moved",
        title: "Each library loads from a copy of the package in another folder, and brings none of the first",
        needs: &["elf.load"],
        limit: 60,
        run: moved,
    },
];

/// What every machine of the platform has.
const SYSTEM: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// Folders of building machines.
const TRACES: [&str; 8] =
    ["/.cargo/", "/.rustup/", "/target/release", "/root/", "/home/", "/tmp/", "/build/", "/nix/store/"];

/// Who may export what: the entry points that prove a copy of the registry or of the pool.
const OWNERS: [(&str, &str); 7] = [
    ("et_register_kernels", "libexecutorch.so.1"),
    ("et_register_backend", "libexecutorch.so.1"),
    ("et_register_device_allocator", "libexecutorch.so.1"),
    ("et_last_error_message", "libexecutorch.so.1"),
    ("et_parallel_for", "libexecutorch_threadpool.so.1"),
    ("et_threadpool_get_thread_count", "libexecutorch_threadpool.so.1"),
    ("et_threadpool_set_thread_count", "libexecutorch_threadpool.so.1"),
];

fn file_name(library: &Library) -> String {
    library.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn inventory(context: &Context) -> Found {
    let (package, libraries) = (context.package()?, context.libraries()?);
    let mut findings = Vec::new();
    for library in &libraries {
        let expected = library.component.soname();
        if library.facts.soname.as_deref() != expected {
            findings.push(format!(
                "{}: SONAME {:?}, expected {expected:?}",
                library.component.path, library.facts.soname
            ));
        }
    }
    let declared: BTreeSet<&str> = libraries.iter().map(|library| library.component.path.as_str()).collect();
    for path in files(&package)? {
        let name = path.to_string_lossy();
        if fs::read(package.join(&path)).is_ok_and(|data| elf::is_elf(&data))
            && !declared.contains(name.as_ref())
        {
            findings.push(format!("{name} is no component of the row"));
        }
        if name.ends_with(".a") || name.ends_with(".la") || name.ends_with(".o") {
            findings.push(format!("{name} is not for users"));
        }
    }
    judge(findings, declared.into_iter().map(str::to_owned).collect())
}

fn paths(context: &Context) -> Found {
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    for library in context.libraries()? {
        let (path, facts) = (&library.component.path, &library.facts);
        if let Some(rpath) = &facts.rpath {
            findings.push(format!("{path}: DT_RPATH {rpath}"));
        }
        let entries = facts.runpath.iter().flat_map(|runpath| runpath.split(':'));
        for entry in entries.filter(|entry| *entry != "$ORIGIN" && !entry.starts_with("$ORIGIN/")) {
            findings.push(format!("{path}: RUNPATH entry {entry:?} is not below $ORIGIN"));
        }
        let needs_siblings = facts.needed.iter().any(|needed| !SYSTEM.contains(&needed.as_str()));
        if needs_siblings && facts.runpath.is_none() {
            findings.push(format!("{path} needs libraries of the wheel and has no RUNPATH"));
        }
        let data = fs::read(&library.path)?;
        for trace in traces_in(&data, &TRACES) {
            findings.push(format!("{path} contains a path of the build machine: {trace}"));
        }
        evidence.push(format!("{path}: RUNPATH {}", facts.runpath.as_deref().unwrap_or("none")));
    }
    judge(findings, evidence)
}

fn ceiling(context: &Context) -> Found {
    let row = &context.input.row;
    let newest = dotted(&row.glibc);
    // `e_machine` of the ELF specification.
    let machine = match row.system {
        System::X86_64 => 62,
        System::Aarch64 => 183,
    };
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    for library in context.libraries()? {
        let path = &library.component.path;
        if library.facts.machine != machine {
            findings.push(format!("{path}: machine {}, expected {machine}", library.facts.machine));
        }
        let mut highest = (0, 0);
        for (_, version) in &library.facts.versions {
            match version.strip_prefix("GLIBC_").map(dotted) {
                Some(Some(number)) if Some(number) <= newest => highest = highest.max(number),
                None if version.starts_with("ET_") => {}
                _ => findings.push(format!("{path} needs {version}, the row allows glibc {}", row.glibc)),
            }
        }
        evidence.push(format!("{path}: glibc {}.{}", highest.0, highest.1));
    }
    judge(findings, evidence)
}

fn closure(context: &Context) -> Found {
    let libraries = context.libraries()?;
    let by_name: BTreeMap<String, &Library> =
        libraries.iter().map(|library| (file_name(library), library)).collect();
    let (mut findings, mut resolved) = (Vec::new(), 0);
    for library in &libraries {
        let path = &library.component.path;
        let mut siblings = Vec::new();
        for needed in library.facts.needed.iter().filter(|needed| !SYSTEM.contains(&needed.as_str())) {
            match by_name.get(needed) {
                Some(sibling) => siblings.push(*sibling),
                None => findings.push(format!("{path} needs {needed}, which the wheel does not have")),
            }
        }
        for import in library.facts.imports.iter().filter(|import| import.name.starts_with("et_")) {
            if siblings.iter().any(|sibling| sibling.facts.defines(&import.name)) {
                resolved += 1;
            } else {
                findings
                    .push(format!("{path} imports {}, which no library that it needs exports", import.name));
            }
        }
    }
    judge(findings, vec![format!("{resolved} imports between {} libraries", libraries.len())])
}

fn owners(context: &Context) -> Found {
    let libraries = context.libraries()?;
    let mut definers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut findings = Vec::new();
    for library in &libraries {
        let name = file_name(library);
        for symbol in &library.facts.exports {
            definers.entry(symbol).or_default().push(name.clone());
            if !library.component.exports.allows(symbol) {
                findings.push(format!("{name} exports {symbol}"));
            }
        }
    }
    for (symbol, names) in definers.iter().filter(|(_, names)| names.len() > 1) {
        findings.push(format!("{symbol} has {} owners: {}", names.len(), names.join(", ")));
    }
    let mut evidence = Vec::new();
    for (symbol, owner) in OWNERS {
        let found = definers.get(symbol).map(|names| names.join(", ")).unwrap_or_default();
        if found != owner {
            findings.push(format!("{symbol} should be exported by {owner}, and is by [{found}]"));
        }
        evidence.push(format!("{symbol}: {found}"));
    }
    // Without an import of it, the registrations of these libraries would go to a copy of their own.
    for library in libraries.iter().filter(|library| library.component.registers) {
        let imports = &library.facts.imports;
        if !imports.iter().any(|import| import.name.starts_with("et_register_")) {
            findings.push(format!("{} registers, and does not import the registry", file_name(library)));
        }
    }
    judge(findings, evidence)
}

/// Loads every library below `package`, with all symbols bound, in a process for each; no environment.
fn load_all(context: &Context, package: &Path) -> Result<Vec<String>> {
    let script = "import ctypes, os, sys\n\
        ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_GLOBAL)\n\
        print('\\n'.join(sorted({l.split(maxsplit=5)[5].strip() for l in open('/proc/self/maps') if 'libexecutorch' in l})))";
    let mut evidence = Vec::new();
    for library in context.libraries()?.iter().filter(|library| library.component.soname().is_some()) {
        let path = package.join(&library.component.path);
        let mut python = context.command("python3");
        let maps = clean::output(python.args(["-I", "-c", script]).arg(&path))
            .with_context(|| format!("{} does not load", library.component.path))?;
        let strangers = maps.lines().filter(|mapped| !Path::new(mapped).starts_with(package));
        let strangers: Vec<&str> = strangers.collect();
        anyhow::ensure!(strangers.is_empty(), "{} brought {}", library.component.path, strangers.join(" "));
        evidence.push(format!("{}: {} libraries of the wheel", library.component.path, maps.lines().count()));
    }
    Ok(evidence)
}

fn load(context: &Context) -> Found {
    Ok(load_all(context, &context.package()?)?)
}

fn moved(context: &Context) -> Found {
    let copy = context.scratch("moved elf/with a space")?.join("executorch_runtime");
    copy_tree(&context.package()?, &copy)?;
    Ok(load_all(context, &copy)?)
}
