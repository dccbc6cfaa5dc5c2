//! The container: code for several architectures in one file.
//!
//! All numbers are little-endian. A head of 16 bytes: `ETCUDA01`, the number of entries (u32), 0 (u32). Then 24 bytes for each
//! entry: its kind (u32: 1 is PTX, 2 a cubin), its architecture (u32: 90 is compute capability 9.0), its place from the file's
//! start and its length in bytes (u64 each). Then the code, each piece at a multiple of 64 bytes.
//!
//! Cubins are ELF files as they are, PTX is text with a NUL byte behind it, nothing is compressed: whoever looks through a library
//! for ELF files of machine 190 and for `.target` lines finds all device code, as the audit of wheels does. The reader is
//! `image.rs` of the kernels' crate.

use anyhow::{Result, bail};

/// The first bytes.
const MAGIC: &[u8; 8] = b"ETCUDA01";
/// What the code is aligned to.
const ALIGNMENT: usize = 64;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Text that the driver compiles.
    Ptx = 1,
    /// Machine code.
    Cubin = 2,
}

/// Code for several architectures, in the order in which it was added.
#[derive(Debug, Default)]
pub struct Container {
    entries: Vec<(Kind, u32, Vec<u8>)>,
}

impl Container {
    /// Adds code. What the compiler gave is checked to be of its kind and architecture.
    pub fn add(&mut self, kind: Kind, architecture: u32, code: Vec<u8>) -> Result<()> {
        match kind {
            Kind::Cubin => match cubin_architecture(&code) {
                Some(found) if found == architecture => {}
                found => {
                    bail!("the compiler was asked for a cubin for {architecture}, and gave one for {found:?}")
                }
            },
            Kind::Ptx => {
                let target = format!(".target sm_{architecture}");
                if !String::from_utf8_lossy(&code).lines().any(|line| line.trim_end() == target)
                    || code.last() != Some(&0)
                {
                    bail!("the compiler was asked for PTX for {architecture}, and gave none with `{target}`");
                }
            }
        }
        self.entries.push((kind, architecture, code));
        Ok(())
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(u32::try_from(self.entries.len()).unwrap_or(u32::MAX).to_le_bytes());
        head.extend(0_u32.to_le_bytes());
        let mut place = (head.len() + 24 * self.entries.len()).next_multiple_of(ALIGNMENT);
        let mut code = Vec::new();
        for (kind, architecture, bytes) in &self.entries {
            head.extend((*kind as u32).to_le_bytes());
            head.extend(architecture.to_le_bytes());
            head.extend((place as u64).to_le_bytes());
            head.extend((bytes.len() as u64).to_le_bytes());
            code.extend(bytes);
            code.resize(code.len().next_multiple_of(ALIGNMENT), 0);
            place += bytes.len().next_multiple_of(ALIGNMENT);
        }
        head.resize(head.len().next_multiple_of(ALIGNMENT), 0);
        head.extend(code);
        head
    }
}

/// The architecture of an ELF file for machine 190 (CUDA): the second byte of its flags in the ABI's version 8, else the first.
fn cubin_architecture(code: &[u8]) -> Option<u32> {
    let machine = u16::from_le_bytes(*code.get(18..)?.first_chunk()?);
    let flags = u32::from_le_bytes(*code.get(48..)?.first_chunk()?);
    if !code.starts_with(b"\x7fELF") || machine != 190 {
        return None;
    }
    Some(if *code.get(8)? >= 8 { flags >> 8 & 0xff } else { flags & 0xff })
}
