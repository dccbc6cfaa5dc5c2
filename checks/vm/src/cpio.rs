//! Archives that the kernel unpacks into its first file system ("newc").

/// An archive that grows in memory; all files belong to root, and nothing depends on the time.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// A folder, whose parent must have been added before.
    pub fn folder(self, name: &str) -> Self {
        self.entry(name, 0o040755, &[])
    }

    /// A file with its permission bits.
    pub fn file(self, name: &str, mode: u32, data: &[u8]) -> Self {
        self.entry(name, 0o100000 | mode, data)
    }

    /// A symbolic link.
    pub fn link(self, name: &str, target: &str) -> Self {
        self.entry(name, 0o120777, target.as_bytes())
    }

    /// The archive's bytes. The kernel takes several archives behind one another.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.entry("TRAILER!!!", 0, &[]).bytes;
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn entry(mut self, name: &str, mode: u32, data: &[u8]) -> Self {
        self.entries += 1;
        // Magic, then: inode, mode, owner, group, links, time, size, four device numbers, length of the name, checksum.
        let fields =
            [self.entries, mode, 0, 0, 1, 0, data.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_laid_out_as_the_kernel_reads_them() {
        let bytes = Archive::default().folder("a").file("a/bc", 0o755, b"12345").finish();
        let text = String::from_utf8_lossy(&bytes);
        // 110 bytes of header, the name with its zero, padded; then the next header.
        assert_eq!(&text[..14], "07070100000001");
        assert_eq!(&text[14..22], "000041ed");
        assert_eq!(&bytes[110..112], b"a\0");
        let second = 112;
        assert_eq!(&text[second..second + 6], "070701");
        assert_eq!(&text[second + 14..second + 22], "000081ed");
        assert_eq!(&text[second + 54..second + 62], "00000005");
        assert_eq!(&bytes[second + 110..second + 115], b"a/bc\0");
        let data = (second + 115usize).next_multiple_of(4);
        assert_eq!(&bytes[data..data + 5], b"12345");
        assert!(text.contains("TRAILER!!!"));
        assert_eq!(bytes.len() % 512, 0);
    }
}
