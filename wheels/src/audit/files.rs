//! All files: where they lie, how large they are, and what they give away of the machine that built them.

use super::finding::{Finding, Findings, Rule};
use super::{Wheel, sorted};
use crate::elf;

/// Folders of building machines, in compiled files.
const TRACES: [&str; 11] = [
    "/.cargo/",
    "/.rustup/",
    "/target/",
    "/root/",
    "/home/",
    "/tmp/",
    "/__w/",
    "/actions-runner/",
    "/pip-out/",
    "/cmake-out/",
    "/site-packages/",
];

/// Those that have no place in text files either: sources and documentation may name temporary folders.
const TEXT_TRACES: [&str; 5] = ["/.cargo/", "/.rustup/", "/root/", "/__w/", "/actions-runner/"];

pub(super) fn check(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    for entry in &wheel.entries {
        let traces = if elf::is_elf(&entry.data) { &TRACES[..] } else { &TEXT_TRACES[..] };
        let found = traces_in(&entry.data, traces);
        if !found.is_empty() {
            let mend = "remap paths when compiling, and strip debug information";
            let found = format!("`{}`", found.join("`, `"));
            Findings::on(&entry.path, list).add(
                Rule::BuildPath,
                found,
                "no path of the building machine",
                mend,
            );
        }
    }
    layout(wheel, list);
    budget(wheel, list);
}

/// The traces that `data` contains, each with what follows it up to the end of the path, at most once. A trace begins
/// with `/`.
pub fn traces_in(data: &[u8], traces: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut left: Vec<&str> = traces.to_vec();
    for at in memchr::memchr_iter(b'/', data) {
        let rest = data.get(at..).unwrap_or_default();
        let Some(place) = left.iter().position(|trace| rest.starts_with(trace.as_bytes())) else { continue };
        left.swap_remove(place);
        let path: Vec<u8> = rest.iter().copied().take(60).take_while(|b| b.is_ascii_graphic()).collect();
        found.push(String::from_utf8_lossy(&path).into_owned());
        if left.is_empty() {
            break;
        }
    }
    found
}

fn layout(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    let compiled = |path: &str| path.ends_with(".pyc") || path.contains("__pycache__/");
    for entry in wheel.entries.iter().filter(|entry| compiled(&entry.path)) {
        let mend = "leave it out: installers compile";
        Findings::on(&entry.path, list).add(Rule::Layout, "compiled Python", "sources", mend);
    }
    let Some(row) = wheel.row() else { return };
    let package = row.package();
    let outside = |path: &&str| {
        let top = path.split_once('/').map_or("", |(top, _)| top);
        top != package && top != wheel.dist_info
    };
    let outside: Vec<&str> = wheel.entries.iter().map(|entry| entry.path.as_str()).filter(outside).collect();
    if let [first, rest @ ..] = outside.as_slice() {
        let found = if rest.is_empty() { "one file".into() } else { format!("{} files", outside.len()) };
        let allowed = format!("{package}/ and {}/", wheel.dist_info);
        let tops = sorted(outside.iter().map(|path| path.split('/').next().unwrap_or(path)));
        let mend = "other packages may own these places";
        Findings::on(first, list).add(Rule::Layout, format!("{found} in {tops}"), allowed, mend);
    }
}

fn budget(wheel: &Wheel<'_>, list: &mut Vec<Finding>) {
    let Some(row) = wheel.row() else { return };
    let budget = |key: &str| row.budget.get(key).copied().unwrap_or(0);
    let mut over = |file: &str, size: u64, budget: u64| {
        if size > budget {
            let mend =
                format!("find out what grew; a larger budget is set in [{}.budget] of rows.toml", row.name);
            let (found, allowed) = (format!("{size} bytes"), format!("{budget} bytes"));
            Findings::on(file, list).add(Rule::Budget, found, allowed, mend);
        }
    };
    over(wheel.file_name, wheel.size, budget("wheel"));
    for library in &wheel.libraries {
        if let Some((name, _)) = library.component {
            over(&library.path, library.data(wheel).len() as u64, budget(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_found_wherever_they_are() {
        assert!(traces_in(b"/src/runtime/core/src/lib.rs /crates/serde-1/lib.rs", &TRACES).is_empty());
        assert_eq!(traces_in(b"x\0//home/me/a.rs\0/home/b", &TRACES), ["/home/me/a.rs"]);
        assert_eq!(traces_in(b"/tmp/", &TRACES), ["/tmp/"]);
        assert!(traces_in(b"open('/tmp/x')", &TEXT_TRACES).is_empty());
    }
}
