//! What a shared library says of itself: header, dynamic section, dynamic symbols.

use anyhow::{Context, Result, bail};
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, StringTable};

/// The facts that the audit judges.
#[derive(Debug, Default)]
pub struct Facts {
    /// `e_machine`.
    pub machine: u16,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// `DT_NEEDED`.
    pub needed: Vec<String>,
    /// `DT_RPATH`.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// Defined dynamic symbols.
    pub exports: Vec<String>,
    /// Undefined dynamic symbols that must be found at load time.
    pub imports: Vec<Import>,
    /// Symbol versions that are needed (`GLIBC_2.28`), each with the library that has them.
    pub versions: Vec<(String, String)>,
    /// Entries of `.init_array`.
    pub initializers: u64,
    /// `DF_1_NODELETE`.
    pub nodelete: bool,
    /// Whether the stack becomes executable when the library is loaded.
    pub executable_stack: bool,
    /// Whether code is written to when the library is loaded (`DT_TEXTREL`).
    pub text_relocations: bool,
}

/// An undefined symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name.
    pub name: String,
    /// The library that it is expected in, if it has a version.
    pub library: Option<String>,
}

impl Facts {
    /// Whether Python can import the file: it has an entry point of an extension module.
    pub fn extension_module(&self) -> bool {
        self.exports.iter().any(|symbol| symbol.starts_with("PyInit_"))
    }

    /// Whether the dynamic symbol `name` is defined.
    pub fn defines(&self, name: &str) -> bool {
        self.exports.iter().any(|export| export == name)
    }
}

/// `2.28` as numbers.
pub fn dotted(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether `data` begins as an ELF file does.
pub fn is_elf(data: &[u8]) -> bool {
    data.starts_with(&elf::ELFMAG)
}

/// Reads a 64-bit ELF shared library.
pub fn read(data: &[u8]) -> Result<Facts> {
    let header = FileHeader64::<Endianness>::parse(data).context("not a 64-bit ELF file")?;
    let endian = header.endian()?;
    if header.e_type(endian) != elf::ET_DYN {
        bail!("not a shared library: e_type is {}", header.e_type(endian));
    }
    let sections = header.sections(endian, data)?;
    let mut facts = Facts { machine: header.e_machine(endian), ..Facts::default() };
    segments(&mut facts, header, endian, data, &sections)?;
    symbols(&mut facts, endian, data, &sections)?;
    if let Some((mut needs, link)) = sections.gnu_verneed(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        while let Some((need, mut versions)) = needs.next()? {
            let library = text(need.file(endian, strings)?);
            while let Some(version) = versions.next()? {
                facts.versions.push((library.clone(), text(version.name(endian, strings)?)));
            }
        }
    }
    if let Some((entries, link)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        for entry in entries {
            dynamic(&mut facts, entry.d_tag(endian), entry.d_val(endian), strings)?;
        }
    }
    for section in sections.iter().filter(|section| section.sh_type(endian) == elf::SHT_INIT_ARRAY) {
        facts.initializers += section.sh_size(endian) / 8;
    }
    Ok(facts)
}

type Sections<'a> = SectionTable<'a, FileHeader64<Endianness>>;

/// The loader reads segments, this module reads sections: both must lead to the same dynamic section.
fn segments(
    facts: &mut Facts,
    header: &FileHeader64<Endianness>,
    endian: Endianness,
    data: &[u8],
    sections: &Sections<'_>,
) -> Result<()> {
    let of_sections = sections.iter().find(|section| section.sh_type(endian) == elf::SHT_DYNAMIC);
    let of_sections = of_sections.map(|section| section.sh_offset(endian));
    let mut of_segments = None;
    // Without a note about the stack, the kernel makes it executable.
    facts.executable_stack = true;
    for segment in header.program_headers(endian, data)? {
        match segment.p_type(endian) {
            elf::PT_DYNAMIC => of_segments = Some(segment.p_offset(endian)),
            elf::PT_GNU_STACK => facts.executable_stack = segment.p_flags(endian) & elf::PF_X != 0,
            _ => {}
        }
    }
    if of_segments.is_none() || of_segments != of_sections {
        bail!("its segments and its sections do not name the same dynamic section");
    }
    Ok(())
}

fn symbols(facts: &mut Facts, endian: Endianness, data: &[u8], sections: &Sections<'_>) -> Result<()> {
    let table = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let versions = sections.versions(endian, data)?;
    for (index, symbol) in table.enumerate().filter(|(_, symbol)| symbol.st_bind() != elf::STB_LOCAL) {
        let name = text(symbol.name(endian, table.strings())?);
        if !symbol.is_undefined(endian) {
            // The symbol that stands for a version node is absolute and no interface.
            if symbol.st_shndx(endian) != elf::SHN_ABS {
                facts.exports.push(name);
            }
        } else if symbol.st_bind() != elf::STB_WEAK {
            let version = match &versions {
                Some(versions) => versions.version(versions.version_index(endian, index))?,
                None => None,
            };
            facts.imports.push(Import { name, library: version.and_then(|v| v.file()).map(text) });
        }
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn dynamic(facts: &mut Facts, tag: u64, value: u64, strings: StringTable<'_>) -> Result<()> {
    let string = || -> Result<String> {
        let offset = u32::try_from(value).context("string offset")?;
        let bytes = strings.get(offset).map_err(|()| anyhow::anyhow!("a dynamic entry names no string"))?;
        Ok(text(bytes))
    };
    match u32::try_from(tag).unwrap_or(0) {
        elf::DT_SONAME => facts.soname = Some(string()?),
        elf::DT_NEEDED => facts.needed.push(string()?),
        elf::DT_RPATH => facts.rpath = Some(string()?),
        elf::DT_RUNPATH => facts.runpath = Some(string()?),
        elf::DT_FLAGS_1 => facts.nodelete = value & u64::from(elf::DF_1_NODELETE) != 0,
        elf::DT_TEXTREL => facts.text_relocations = true,
        elf::DT_FLAGS => facts.text_relocations |= value & u64::from(elf::DF_TEXTREL) != 0,
        _ => {}
    }
    Ok(())
}
