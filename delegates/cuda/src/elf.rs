//! What a compiled model's file must be, said before the loader says something else.

use executorch_abi::error::ET_ERROR_INVALID_PROGRAM;
use executorch_abi::{Error, Result};

/// Machines in ELF headers, with their usual names.
const MACHINES: [(u16, &str); 4] = [(62, "x86_64"), (183, "aarch64"), (243, "riscv64"), (40, "arm")];
const SHARED_OBJECT: u16 = 3;

/// Fails unless the bytes start as a shared library for this machine does.
pub fn check(bytes: &[u8]) -> Result<()> {
    let number = |at: usize| {
        let pair = bytes.get(at..)?.first_chunk::<2>().copied()?;
        Some(u16::from_le_bytes(pair))
    };
    let header = bytes.first_chunk::<6>();
    if header.is_none_or(|header| !header.starts_with(b"\x7fELF")) || bytes.len() < 64 {
        let start: String = bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        return Err(bad(format!(
            "the compiled model is no shared library: it has {} bytes and starts with {start:?}, where an ELF file was \
             expected; models compiled for Windows do not run here",
            bytes.len()
        )));
    }
    let name = |machine: u16| {
        let known = MACHINES.iter().find(|known| known.0 == machine);
        known.map_or_else(|| format!("machine {machine}"), |known| known.1.to_owned())
    };
    let machine = number(18).unwrap_or_default();
    if header != Some(b"\x7fELF\x02\x01") || name(machine) != std::env::consts::ARCH {
        return Err(bad(format!(
            "the compiled model is for {}, this machine is {}; export the program on a machine of this kind",
            name(machine),
            std::env::consts::ARCH
        )));
    }
    if number(16) != Some(SHARED_OBJECT) {
        return Err(bad("the compiled model is an ELF file but no shared library".into()));
    }
    if is_whole(bytes) {
        return Ok(());
    }
    // The loader maps what the headers tell of, and a process that touches a page behind the file's end is killed.
    Err(bad(format!(
        "the compiled model is cut off: its {} bytes are less than its headers tell of",
        bytes.len()
    )))
}

const LOAD: u32 = 1;

/// Whether all that is to be mapped lies in the file.
fn is_whole(bytes: &[u8]) -> bool {
    fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
        bytes.get(at..)?.first_chunk().copied()
    }
    let place = |at: usize| usize::try_from(u64::from_le_bytes(number(bytes, at)?)).ok();
    let check = || {
        let start = place(32)?;
        let (size, count) = (u16::from_le_bytes(number(bytes, 54)?), u16::from_le_bytes(number(bytes, 56)?));
        for index in 0..usize::from(count) {
            let header = start.checked_add(index.checked_mul(usize::from(size))?)?;
            let kind = u32::from_le_bytes(number(bytes, header)?);
            let end = place(header.checked_add(8)?)?.checked_add(place(header.checked_add(32)?)?)?;
            if kind == LOAD && end > bytes.len() {
                return None;
            }
        }
        Some(())
    };
    check().is_some()
}

fn bad(what: String) -> Error {
    Error::new(ET_ERROR_INVALID_PROGRAM, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(class: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes[4] = class;
        bytes.resize(64, 0);
        bytes[16..18].copy_from_slice(&kind.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[test]
    fn only_libraries_of_this_machine_pass() {
        let (own, other) = if cfg!(target_arch = "x86_64") { (62, 183) } else { (183, 62) };
        assert_eq!(check(&header(2, 3, own)), Ok(()));
        let told = |bytes: &[u8], part: &str| {
            let error = check(bytes).map_or_else(|e| e.message, |()| "nothing".into());
            assert!(error.contains(part), "{error}");
        };
        told(b"", "0 bytes");
        told(b"MZ\x90\0", "4d5a9000");
        told(&header(2, 3, own)[..63], "63 bytes");
        told(&header(2, 3, other), if other == 183 { "aarch64" } else { "x86_64" });
        told(&header(1, 3, own), "this machine is");
        told(&header(2, 2, own), "no shared library");
        // One segment, whose end is that of the file.
        let mut whole = header(2, 3, own);
        whole[32] = 64;
        whole[54] = 56;
        whole[56] = 1;
        whole.resize(64 + 56, 0);
        whole[64] = 1;
        whole[64 + 32] = 120;
        assert_eq!(check(&whole), Ok(()));
        told(&whole[..119], "cut off");
        whole[64 + 32] = 121;
        told(&whole, "cut off");
    }
}
