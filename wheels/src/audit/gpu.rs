//! Device code: for exactly the GPU architectures of the row, and PTX of the newest for GPUs to come.
//!
//! It lies in fat binaries (a list of cubins and PTX texts, each with its architecture), or as cubins or PTX alone.

use std::collections::BTreeSet;

use memchr::memmem;

use super::finding::{Findings, Rule};
use super::{Library, Wheel};

/// Architectures that a file has code for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DeviceCode {
    /// Machine code.
    pub cubins: BTreeSet<u32>,
    /// Text that the driver compiles.
    pub ptx: BTreeSet<u32>,
}

impl DeviceCode {
    /// That of a file's bytes.
    pub fn of(data: &[u8]) -> Self {
        scan(data)
    }
}

pub(super) fn check(wheel: &Wheel<'_>, library: &Library<'_>, findings: &mut Findings<'_>) {
    let Some(row) = wheel.row() else { return };
    let code = scan(library.data(wheel));
    let device = library.component.is_some_and(|(_, component)| component.device_code);
    let (cubins, ptx) = match row.cuda.as_ref().filter(|_| device) {
        Some(cuda) => (cuda.architectures.iter().copied().collect(), BTreeSet::from([cuda.ptx])),
        None => (BTreeSet::new(), BTreeSet::new()),
    };
    let expected = DeviceCode { cubins, ptx };
    if code != expected {
        let text = |code: &DeviceCode| match (code.cubins.is_empty(), code.ptx.is_empty()) {
            (true, true) => "no device code".to_owned(),
            _ => format!("machine code for {:?}, PTX for {:?}", code.cubins, code.ptx),
        };
        let mend = format!(
            "compile for the architectures of [{}.cuda] in rows.toml, and only in components with device code",
            row.name
        );
        findings.add(Rule::Gpu, text(&code), text(&expected), mend);
    }
}

fn scan(data: &[u8]) -> DeviceCode {
    let mut code = DeviceCode::default();
    for at in memmem::find_iter(data, b"\x50\xed\x55\xba") {
        fat_binary(&data[at..], &mut code);
    }
    for at in memmem::find_iter(data, b"\x7fELF") {
        cubin(&data[at..], &mut code);
    }
    for at in memmem::find_iter(data, b".target sm_") {
        let digits = data[at + 11..].iter().take_while(|byte| byte.is_ascii_digit());
        let number = digits.take(4).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        code.ptx.insert(number);
    }
    code
}

fn number<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

/// Header: magic, version (u16, 1), size of the header (u16), size of what follows (u64). Each entry: kind (u16, 1 for PTX and
/// 2 for a cubin), version, size of its header (u32), size of its payload (u64), …, architecture (u32 at byte 28).
fn fat_binary(data: &[u8], code: &mut DeviceCode) -> Option<()> {
    let header = usize::from(u16::from_le_bytes(number(data, 6)?));
    let size = usize::try_from(u64::from_le_bytes(number(data, 8)?)).ok()?;
    if u16::from_le_bytes(number(data, 4)?) != 1 || header < 16 {
        return None;
    }
    let mut rest = data.get(header..header.checked_add(size)?)?;
    while !rest.is_empty() {
        let kind = u16::from_le_bytes(number(rest, 0)?);
        let header = u32::from_le_bytes(number(rest, 4)?) as usize;
        let payload = usize::try_from(u64::from_le_bytes(number(rest, 8)?)).ok()?;
        let architecture = u32::from_le_bytes(number(rest, 28)?);
        match kind {
            1 => code.ptx.insert(architecture),
            2 => code.cubins.insert(architecture),
            _ => false,
        };
        if header < 32 {
            return None;
        }
        rest = rest.get(header.checked_add(payload)?..)?;
    }
    Some(())
}

/// An ELF file for machine 190 (CUDA). The architecture is the second byte of the flags in the ABI's version 8, else the first.
fn cubin(data: &[u8], code: &mut DeviceCode) -> Option<()> {
    let machine = u16::from_le_bytes(number(data, 18)?);
    let flags = u32::from_le_bytes(number(data, 48)?);
    if machine == 190 {
        code.cubins.insert(if data.get(8)? >= &8 { flags >> 8 & 0xff } else { flags & 0xff });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, architecture: u32, payload: &[u8]) -> Vec<u8> {
        let mut entry = kind.to_le_bytes().to_vec();
        entry.extend(0x101_u16.to_le_bytes());
        entry.extend(64_u32.to_le_bytes());
        entry.extend((payload.len() as u64).to_le_bytes());
        entry.extend([0; 12]);
        entry.extend(architecture.to_le_bytes());
        entry.resize(64, 0);
        entry.extend(payload);
        entry
    }

    fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut fat = b"\x50\xed\x55\xba\x01\x00\x10\x00".to_vec();
        fat.extend((body.len() as u64).to_le_bytes());
        fat.extend(body);
        fat
    }

    fn elf(abi: u8, flags: u32) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        elf[8] = abi;
        elf[18] = 190;
        elf[48..52].copy_from_slice(&flags.to_le_bytes());
        elf
    }

    #[test]
    fn all_forms_of_device_code_are_seen() {
        let mut data = b"\x7fELF".to_vec();
        data.resize(64, 0);
        assert_eq!(scan(&data), DeviceCode::default());
        data.extend(fat(&[entry(2, 80, b"code"), entry(1, 120, b"text")]));
        data.extend(elf(7, 0x0055_0556));
        // The flags of a cubin for sm_90 that a compiler of CUDA 13 wrote.
        data.extend(elf(8, 0x0600_5a04));
        data.extend(b".version 9.0\n.target sm_100\n");
        assert_eq!(scan(&data), DeviceCode { cubins: [80, 86, 90].into(), ptx: [100, 120].into() });
    }

    #[test]
    fn damage_ends_the_reading() {
        let whole = fat(&[entry(2, 80, b"code"), entry(2, 90, b"code")]);
        for end in 0..whole.len() {
            assert!(scan(&whole[..end]).cubins.is_empty());
        }
        let mut endless = whole.clone();
        endless[16 + 4..16 + 8].fill(0);
        assert_eq!(scan(&endless).cubins, [80].into());
    }
}
