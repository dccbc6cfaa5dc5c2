//! The kernels, compiled for all rows of the release matrix by their NVRTC.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_cuda_native::{Config, Row, build};
use std::path::Path;

/// The distinct builds that `rows.toml` asks for.
fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../wheels/rows.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for (_, row) in toml::from_str::<toml::Table>(&text).unwrap() {
        let Some(cuda) = row.get("cuda") else { continue };
        let Some(architectures) = cuda.get("architectures").and_then(toml::Value::as_array) else { continue };
        let number = |value: &toml::Value| u32::try_from(value.as_integer().unwrap()).unwrap();
        let row = Row {
            version: cuda.get("version").unwrap().as_str().unwrap().into(),
            architectures: architectures.iter().map(number).collect(),
            ptx: number(cuda.get("ptx").unwrap()),
        };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Reads a container as its description says, and returns kinds and architectures.
fn entries(bytes: &[u8]) -> Vec<(u32, u32)> {
    assert_eq!(&bytes[..8], b"ETCUDA01");
    let count = (number(bytes, 8) & 0xffff_ffff) as usize;
    let read = |entry: usize| {
        let at = 16 + 24 * entry;
        let (head, place, length) =
            (number(bytes, at), number(bytes, at + 8) as usize, number(bytes, at + 16) as usize);
        let code = &bytes[place..place + length];
        assert_eq!(place % 64, 0);
        let kind = head as u32;
        match kind {
            1 => assert!(
                code.ends_with(b"\0") && String::from_utf8_lossy(code).contains(".entry int4_plain_1(")
            ),
            2 => assert!(
                code.starts_with(b"\x7fELF") && code.windows(13).any(|name| name == b"int4_plain_1\0")
            ),
            _ => panic!("kind {kind}"),
        }
        (kind, (head >> 32) as u32)
    };
    (0..count).map(read).collect()
}

#[test]
fn every_row_gets_its_architectures() {
    let config = Config::from_environment(Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap());
    let rows = rows();
    assert!(rows.len() >= 3, "{rows:?}");
    for row in rows {
        let bytes = std::fs::read(build(&row, &config).unwrap()).unwrap();
        let mut expected: Vec<_> = row.architectures.iter().map(|&architecture| (2, architecture)).collect();
        expected.push((1, row.ptx));
        assert_eq!(entries(&bytes), expected, "{row:?}");
    }
}
