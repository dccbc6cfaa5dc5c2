//! One fault: where, which rule, what was found, what is allowed, how to mend it.

use std::fmt;

use serde::Serialize;

/// A fault of a wheel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// File in the wheel, or the wheel's own name.
    pub file: String,
    /// The rule that it breaks.
    pub rule: Rule,
    /// What is there.
    pub found: String,
    /// What may be there.
    pub allowed: String,
    /// What to do.
    pub mend: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: found {}; allowed: {}; {}",
            self.file, self.rule, self.found, self.allowed, self.mend
        )
    }
}

/// The findings on one file, or on the wheel.
pub(super) struct Findings<'a> {
    file: &'a str,
    list: &'a mut Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub fn on(file: &'a str, list: &'a mut Vec<Finding>) -> Self {
        Self { file, list }
    }

    pub fn add(
        &mut self,
        rule: Rule,
        found: impl Into<String>,
        allowed: impl Into<String>,
        mend: impl Into<String>,
    ) {
        let (file, found, allowed, mend) = (self.file.to_owned(), found.into(), allowed.into(), mend.into());
        self.list.push(Finding { file, rule, found, allowed, mend });
    }
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident = $id:literal,)+) => {
        /// Every rule of the audit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The rule's name in reports.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)+
                }
            }
        }
    };
}

rules! {
    /// The archive can be read in one way only: nothing between, before or after its files, and both headers of each
    /// file say the same.
    ZipStructure = "zip.structure",
    /// Names are relative, in normal form, and stay inside.
    ZipName = "zip.name",
    /// No name stands for two files, not even where upper and lower case are the same.
    ZipDuplicate = "zip.duplicate",
    /// Unpacked sizes and their ratio to the packed ones are bounded, and true.
    ZipBomb = "zip.bomb",
    /// Only plain files and folders.
    ZipLink = "zip.link",
    /// `RECORD` names every file, with its digest and size, and nothing else.
    Record = "wheel.record",
    /// The tag of the file name and of `WHEEL` is the row's.
    Tag = "wheel.tag",
    /// Project, and file name, `METADATA` and the folder `.dist-info` agree.
    Name = "wheel.name",
    /// The version's label is the row's.
    Version = "wheel.version",
    /// `METADATA` and `WHEEL` are there and well-formed; licence files that they name exist.
    Metadata = "wheel.metadata",
    /// The Python floor is the row's.
    Python = "wheel.python",
    /// Declared dependencies are exactly the row's.
    Dependencies = "wheel.dependencies",
    /// Files lie in the package or in `.dist-info`.
    Layout = "wheel.layout",
    /// Files are not larger than their budgets.
    Budget = "wheel.budget",
    /// Components of the row are built.
    Unbuilt = "row.unbuilt",
    /// Components of the row are in the wheel.
    Missing = "row.missing",
    /// Libraries in the wheel are components of the row.
    Unexpected = "row.unexpected",
    /// A file that should be a shared library is a sound one.
    Malformed = "elf.malformed",
    /// For the row's processor.
    Machine = "elf.machine",
    /// No newer symbol versions than the oldest system of the tag has.
    Ceiling = "elf.ceiling",
    /// The SONAME is the file's name.
    Soname = "elf.soname",
    /// No `DT_RPATH`, which goes before `LD_LIBRARY_PATH` and is passed on.
    Rpath = "elf.rpath",
    /// `DT_RUNPATH` entries are relative to the file and lead to where its libraries are.
    Runpath = "elf.runpath",
    /// Needed libraries are found.
    Needed = "elf.needed",
    /// Undefined symbols are defined by a needed library.
    Undefined = "elf.undefined",
    /// Each symbol of the runtime's interface is defined once.
    Definer = "elf.definer",
    /// Exported symbols are the component's interface.
    Exports = "elf.exports",
    /// Extension modules use the stable ABI of the Python floor only.
    Abi3 = "elf.abi3",
    /// Libraries that the registry or running threads point into are never unmapped.
    Unload = "elf.unload",
    /// Components that register something do so when they are loaded.
    Registers = "elf.registers",
    /// No executable stack, no relocations in code.
    Hardening = "elf.hardening",
    /// No path of the machine that built the file.
    BuildPath = "file.build-path",
    /// Device code for exactly the row's GPU architectures.
    Gpu = "gpu.architectures",
    /// A delegate defines nothing of the registry.
    Coreless = "delegate.coreless",
    /// A delegate imports the registry.
    Imports = "delegate.imports",
    /// A delegate is no extension module.
    Pyinit = "delegate.pyinit",
    /// A delegate declares how it is loaded.
    EntryPoint = "delegate.entry-point",
    /// A delegate depends on the runtime.
    Runtime = "delegate.runtime",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
