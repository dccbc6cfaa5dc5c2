//! What the dynamic section of a shared library says.

use anyhow::{Context, Result};
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader, Sym};
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
    pub imports: Vec<String>,
    /// Symbol versions that are needed (`GLIBC_2.28`).
    pub versions: Vec<String>,
    /// Entries of `.init_array`.
    pub initializers: u64,
    /// `DF_1_NODELETE`.
    pub nodelete: bool,
}

/// `2.28` as numbers.
pub fn dotted(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Reads a 64-bit ELF file.
pub fn read(data: &[u8]) -> Result<Facts> {
    let header = FileHeader64::<Endianness>::parse(data).context("not a 64-bit ELF file")?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let mut facts = Facts { machine: header.e_machine(endian), ..Facts::default() };
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    for symbol in symbols.iter().skip(1).filter(|symbol| symbol.st_bind() != elf::STB_LOCAL) {
        let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings())?).into_owned();
        if !symbol.is_undefined(endian) {
            // The symbol that stands for a version node is absolute and no interface.
            if symbol.st_shndx(endian) != elf::SHN_ABS {
                facts.exports.push(name);
            }
        } else if symbol.st_bind() != elf::STB_WEAK {
            facts.imports.push(name);
        }
    }
    if let Some((mut needs, link)) = sections.gnu_verneed(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        while let Some((_, mut versions)) = needs.next()? {
            while let Some(version) = versions.next()? {
                let name = version.name(endian, strings)?;
                facts.versions.push(String::from_utf8_lossy(name).into_owned());
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

fn dynamic(facts: &mut Facts, tag: u64, value: u64, strings: StringTable<'_>) -> Result<()> {
    let text = || -> Result<String> {
        let offset = u32::try_from(value).context("string offset")?;
        let bytes = strings.get(offset).map_err(|()| anyhow::anyhow!("a dynamic entry names no string"))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    };
    match u32::try_from(tag).unwrap_or(0) {
        elf::DT_SONAME => facts.soname = Some(text()?),
        elf::DT_NEEDED => facts.needed.push(text()?),
        elf::DT_RPATH => facts.rpath = Some(text()?),
        elf::DT_RUNPATH => facts.runpath = Some(text()?),
        elf::DT_FLAGS_1 => facts.nodelete = value & u64::from(elf::DF_1_NODELETE) != 0,
        _ => {}
    }
    Ok(())
}
