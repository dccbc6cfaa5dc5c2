//! Symbol versions: none that the oldest system of the wheel's tag lacks.

use super::finding::{Findings, Rule};
use super::{Library, Wheel, search};

/// Minor version of glibc; newest GLIBCXX, CXXABI and GCC (libgcc) symbol versions.
type Policy = (u32, [u32; 3], [u32; 3], [u32; 3]);

/// What the manylinux policies allow, by the oldest glibc that they are for.
const POLICIES: [Policy; 8] = [
    (17, [3, 4, 19], [1, 3, 7], [4, 8, 0]),
    (24, [3, 4, 22], [1, 3, 10], [4, 8, 0]),
    (27, [3, 4, 24], [1, 3, 11], [7, 0, 0]),
    (31, [3, 4, 28], [1, 3, 12], [7, 0, 0]),
    (34, [3, 4, 29], [1, 3, 13], [7, 0, 0]),
    (35, [3, 4, 30], [1, 3, 13], [12, 0, 0]),
    (38, [3, 4, 30], [1, 3, 13], [12, 0, 0]),
    (39, [3, 4, 33], [1, 3, 15], [14, 0, 0]),
];

pub(super) fn check(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    let Some(platform) = wheel.platform else { return };
    let system = |library: &str| search::is_system(library, wheel);
    let versions = library.facts.versions.iter().filter(|(library, _)| system(library));
    let new: Vec<&str> = versions
        .map(|(_, version)| version.as_str())
        .filter(|version| !allowed(version, platform.glibc))
        .collect();
    if !new.is_empty() {
        let (major, minor) = platform.glibc;
        let allowed = format!("what a system with glibc {major}.{minor} has: {}", ceilings(platform.glibc));
        findings.add(Rule::Ceiling, super::sorted(new), allowed, "link against the older system's libraries");
    }
}

fn policy(glibc: (u32, u32)) -> Option<&'static Policy> {
    POLICIES.iter().rev().find(|policy| glibc >= (2, policy.0))
}

fn ceilings(glibc: (u32, u32)) -> String {
    let dotted = |numbers: &[u32; 3]| numbers.map(|number| number.to_string()).join(".");
    let mut text = format!("GLIBC_{}.{}", glibc.0, glibc.1);
    if let Some((_, glibcxx, cxxabi, gcc)) = policy(glibc) {
        text += &format!(", GLIBCXX_{}, CXXABI_{}, GCC_{}", dotted(glibcxx), dotted(cxxabi), dotted(gcc));
    }
    text
}

/// Whether systems with `glibc` have the symbol version. What is not a number (`GLIBC_PRIVATE`, `GLIBC_ABI_DT_RELR`) they
/// have not.
fn allowed(version: &str, glibc: (u32, u32)) -> bool {
    let Some((kind, number)) = version.split_once('_') else { return false };
    let Some(number) = numbers(number) else { return false };
    let limit = match (kind, policy(glibc)) {
        ("GLIBC", _) => return number <= vec![glibc.0, glibc.1, u32::MAX],
        ("GLIBCXX", Some((_, limit, _, _)))
        | ("CXXABI", Some((_, _, limit, _)))
        | ("GCC", Some((_, _, _, limit))) => limit,
        _ => return false,
    };
    number <= limit.to_vec()
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_follow_the_system() {
        for (version, oldest) in [
            ("GLIBC_2.28", 28),
            ("GLIBC_2.2.5", 17),
            ("GLIBC_2.17", 17),
            ("GLIBC_2.34", 34),
            ("GLIBCXX_3.4.9", 17),
            ("GLIBCXX_3.4.19", 17),
            ("GLIBCXX_3.4.24", 27),
            ("GLIBCXX_3.4.28", 31),
            ("GLIBCXX_3.4.30", 35),
            ("CXXABI_1.3.11", 27),
            ("CXXABI_1.3.13", 34),
            ("GCC_3.0", 17),
            ("GCC_12.0.0", 35),
        ] {
            for minor in 17..45 {
                assert_eq!(allowed(version, (2, minor)), minor >= oldest, "{version} on 2.{minor}");
            }
        }
        for version in
            ["GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBC_3.0", "CXXABI_FLOAT128", "ZLIB_1.2", "x", ""]
        {
            assert!(!allowed(version, (2, 28)), "{version}");
        }
        assert!(!allowed("GLIBCXX_3.4", (2, 12)));
    }
}
