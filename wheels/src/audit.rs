//! The rules that every library of a wheel keeps. Each finding says what was expected and what was found.

use anyhow::Result;

use crate::component::{Component, Components};
use crate::elf::{self, Facts};
use crate::row::{Row, System};

/// System libraries that every machine of the platform tag has.
const SYSTEM: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// Checks the library `data` of component `name`; an empty list means that it passed.
pub fn library(name: &str, data: &[u8], row: &Row, components: &Components) -> Result<Vec<String>> {
    let Some(component) = components.get(name) else { anyhow::bail!("unknown component `{name}`") };
    let facts = elf::read(data)?;
    let mut findings = Vec::new();
    identity(&facts, component, row, &mut findings);
    closure(&facts, component, components, &mut findings);
    findings.extend(ceiling(&facts, &row.glibc));
    let size = data.len() as u64;
    let budget = row.budget.get(name).copied().unwrap_or(0);
    if size > budget {
        findings.push(format!("size: {size} bytes, budget {budget}"));
    }
    for trace in ["/.cargo/", "/.rustup/", "/target/", "/root/", "/home/", "/tmp/"] {
        if data.windows(trace.len()).any(|window| window == trace.as_bytes()) {
            findings.push(format!("build path: the file contains `{trace}`; remap it"));
        }
    }
    Ok(findings.into_iter().map(|finding| format!("{}: {finding}", component.path)).collect())
}

fn identity(facts: &Facts, component: &Component, row: &Row, findings: &mut Vec<String>) {
    let machine = match row.system {
        System::X86_64 => object::elf::EM_X86_64,
        System::Aarch64 => object::elf::EM_AARCH64,
    };
    if facts.machine != machine {
        findings.push(format!("machine: expected {machine}, found {}", facts.machine));
    }
    if component.soname().is_some() && facts.soname.as_deref() != component.soname() {
        findings.push(format!("SONAME: expected {:?}, found {:?}", component.soname(), facts.soname));
    }
    if facts.rpath.is_some() {
        findings.push("DT_RPATH: use DT_RUNPATH".into());
    }
    if facts.runpath.as_deref() != component.runpath() {
        findings.push(format!("RUNPATH: expected {:?}, found {:?}", component.runpath(), facts.runpath));
    }
    if facts.nodelete == component.unload {
        findings.push(format!("NODELETE: expected {}, found {}", !component.unload, facts.nodelete));
    }
    // Rust's standard library brings one initialiser of its own.
    if component.registers && facts.initializers < 2 {
        findings.push("registers: no static initialiser of its own in .init_array".into());
    }
    for symbol in facts.exports.iter().filter(|symbol| !component.exports.allows(symbol)) {
        findings.push(format!("export: `{symbol}` is not allowed by {}", component.exports.version_script()));
    }
}

fn closure(facts: &Facts, component: &Component, components: &Components, findings: &mut Vec<String>) {
    let siblings: Vec<&str> =
        component.needs.iter().filter_map(|need| components.get(need)).map(Component::file_name).collect();
    for needed in facts.needed.iter().filter(|needed| !SYSTEM.contains(&needed.as_str())) {
        if !siblings.contains(&needed.as_str()) {
            findings.push(format!("NEEDED: {needed} is neither a system library nor in `needs`"));
        }
    }
}

/// Checks that every imported `et_*` symbol is exported by a component that the importer needs.
pub fn resolution(libraries: &[(&str, Facts)], components: &Components) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, facts) in libraries {
        let needs = components.get(*name).map_or(&[][..], |component| component.needs.as_slice());
        let provided = |symbol: &String| {
            let provider = |(other, facts): &(&str, Facts)| {
                needs.iter().any(|need| need == other) && facts.exports.contains(symbol)
            };
            libraries.iter().any(provider)
        };
        let imports = facts.imports.iter().filter(|import| import.starts_with("et_"));
        let missing = imports.filter(|import| !provided(import));
        findings.extend(
            missing.map(|import| format!("{name}: `{import}` is exported by no library that it needs")),
        );
    }
    findings
}

/// Checks the glibc ceiling of `facts`.
pub fn ceiling(facts: &Facts, glibc: &str) -> Vec<String> {
    let newest = elf::dotted(glibc);
    let too_new = |version: &&String| match version.strip_prefix("GLIBC_") {
        Some(number) => elf::dotted(number).is_none() || elf::dotted(number) > newest,
        None => !version.starts_with("ET_"),
    };
    facts
        .versions
        .iter()
        .filter(too_new)
        .map(|v| format!("symbol version: {v} needed, ceiling GLIBC_{glibc}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const ROWS: &str = include_str!("../rows.toml");

    /// Findings on a library for the runtime component that the C compiler makes from `source` with `flags`.
    fn audit(source: &str, flags: &[&str]) -> String {
        let components = crate::component::parse(include_str!("../components.toml")).unwrap();
        let row = &crate::row::parse(ROWS, &components).unwrap()["cpu"];
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.c"), source).unwrap();
        let mut cc = Command::new("cc");
        cc.current_dir(dir.path()).args(["-shared", "-fPIC", "-s", "a.c", "-o", "a.so"]).args(flags);
        assert!(cc.status().unwrap().success());
        let data = std::fs::read(dir.path().join("a.so")).unwrap();
        library("runtime", &data, row, &components).unwrap().join("\n")
    }

    const SONAME: &str = "-Wl,-soname,libexecutorch.so.1";

    #[test]
    fn a_sound_library_passes() {
        assert_eq!(audit("int et_a(void) { return 1; }", &[SONAME]), "");
    }

    #[test]
    fn each_fault_is_found() {
        let big = "const char et_big[3000000] = {1};";
        for (source, flags, message) in [
            ("int et_a;", &["-Wl,-soname,other.so"][..], "SONAME: expected"),
            ("int et_a;", &[SONAME, "-Wl,--disable-new-dtags,-rpath,/opt"], "DT_RPATH"),
            ("int et_a;", &[SONAME, "-Wl,--enable-new-dtags,-rpath,/opt"], "RUNPATH: expected None"),
            ("int et_a; int other;", &[SONAME], "export: `other`"),
            ("int et_a;", &[SONAME, "-Wl,-z,nodelete"], "NODELETE: expected false"),
            (big, &[SONAME], "size: "),
            ("const char *et_a = \"/root/src/x.c\";", &[SONAME], "build path"),
            ("int et_a;", &[SONAME, "-Wl,--no-as-needed", "-lgcc_s"], "NEEDED: libgcc_s.so.1"),
        ] {
            let findings = audit(source, flags);
            assert!(findings.contains(message), "{message} not in: {findings}");
        }
    }

    #[test]
    fn newer_glibc_is_refused() {
        let needs =
            |version: &str| Facts { versions: vec![version.into(), "ET_1".into()], ..Facts::default() };
        assert!(ceiling(&needs("GLIBC_2.28"), "2.28").is_empty());
        assert!(ceiling(&needs("GLIBC_2.2.5"), "2.28").is_empty());
        for version in ["GLIBC_2.29", "GLIBC_3.0", "GLIBC_PRIVATE", "GLIBCXX_3.4"] {
            assert_eq!(ceiling(&needs(version), "2.28").len(), 1, "{version}");
        }
    }

    #[test]
    fn unresolved_imports_are_found() {
        let components = crate::component::parse(include_str!("../components.toml")).unwrap();
        let core = |symbol: &str| Facts { exports: vec![symbol.into()], ..Facts::default() };
        let kernels = || Facts { imports: vec!["et_register".into()], ..Facts::default() };
        let set = |symbol| [("runtime", core(symbol)), ("kernels_optimized", kernels())];
        assert!(resolution(&set("et_register"), &components).is_empty());
        assert_eq!(resolution(&set("et_other"), &components).len(), 1);
    }
}
