//! Which machines there are.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// The processor that a machine has, or is emulated to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// The kernel's name, as in `uname -m`.
    pub fn kernel(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Debian's name.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Whether this is the processor of the machine that the program runs on.
    pub fn is_here(self) -> bool {
        self.kernel() == std::env::consts::ARCH
    }
}

/// A release of Debian.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Release {
    name: &'static str,
    suite: &'static str,
    /// Other names, for people.
    alias: &'static str,
    glibc: &'static str,
    python: &'static str,
}

/// From the oldest to the newest. Debian 10, whose glibc is 2.28, has left the mirrors.
const RELEASES: [Release; 4] = [
    Release { name: "debian-11", suite: "bullseye", alias: "debian-oldest", glibc: "2.31", python: "3.9" },
    Release { name: "debian-12", suite: "bookworm", alias: "", glibc: "2.36", python: "3.11" },
    Release { name: "debian-13", suite: "trixie", alias: "debian-newest", glibc: "2.41", python: "3.13" },
    Release { name: "debian-sid", suite: "sid", alias: "", glibc: "2.43", python: "3.14" },
];

/// What every machine has besides Debian's essential packages: what the README asks of users, and what looks at
/// installed files.
const PACKAGES: [&str; 10] = [
    "binutils",
    "cmake",
    "file",
    "g++",
    "make",
    "pkg-config",
    "python3",
    "python3-numpy",
    "python3-pip",
    "python3-venv",
];

/// A clean machine that can be made: a release of Debian for an architecture.
///
/// Written as the release's name, with `-arm64` behind it for 64-bit Arm: `debian-12`, `debian-13-arm64`. Debian's code
/// names (`bookworm`), `debian-oldest` and `debian-newest` are understood too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Image {
    release: &'static Release,
    arch: Arch,
}

impl Image {
    /// All images, from the oldest release to the newest.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |arch| RELEASES.iter().map(move |release| Self { release, arch });
        of(Arch::X86_64).chain(of(Arch::Aarch64))
    }

    /// The name, which no other image has.
    pub fn name(&self) -> String {
        match self.arch {
            Arch::X86_64 => self.release.name.into(),
            Arch::Aarch64 => format!("{}-arm64", self.release.name),
        }
    }

    /// The processor.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Debian's code name of the release.
    pub fn suite(&self) -> &'static str {
        self.release.suite
    }

    /// The C library's version, such as `2.36`.
    pub fn glibc(&self) -> &'static str {
        self.release.glibc
    }

    /// The version of `python3`, such as `3.11`.
    pub fn python(&self) -> &'static str {
        self.release.python
    }

    /// The Debian packages that are asked for; more come as their dependencies.
    pub fn packages(&self) -> &'static [&'static str] {
        &PACKAGES
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for Image {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, arch) = match text.strip_suffix("-arm64") {
            Some(name) => (name, Arch::Aarch64),
            None => (text, Arch::X86_64),
        };
        let names = |release: &Release| [release.name, release.suite, release.alias].contains(&name);
        let release = RELEASES.iter().find(|&release| !name.is_empty() && names(release));
        release.map(|release| Self { release, arch }).ok_or_else(|| Error::NoSuchImage(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_images() {
        for image in Image::all() {
            assert_eq!(image.name().parse::<Image>().unwrap(), image);
        }
        assert_eq!("debian-oldest".parse::<Image>().unwrap().suite(), "bullseye");
        assert_eq!("bookworm-arm64".parse::<Image>().unwrap().name(), "debian-12-arm64");
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        for name in ["", "-arm64", "debian-10", "Debian-12", "debian-12-arm", "../debian-12"] {
            let error = name.parse::<Image>().unwrap_err().to_string();
            assert!(error.contains("debian-12") && error.contains("debian-13-arm64"), "{error}");
        }
    }

    #[test]
    fn every_release_has_the_floor() {
        for image in Image::all() {
            let minor: u32 = image.glibc().strip_prefix("2.").unwrap().parse().unwrap();
            assert!(minor >= 28, "{image}");
        }
    }
}
