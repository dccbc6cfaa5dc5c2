#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn weight(
    out: &mut Vec<u8>,
    name: &str,
    bytes: u64,
    dtype: i32,
    device: i32,
    offset: i64,
    dims: &[(i64, i64)],
) {
    text(out, name);
    text(out, &format!("cuda_fqn_weight:cuda:{name}"));
    out.extend(bytes.to_le_bytes());
    out.extend(dtype.to_le_bytes());
    out.extend(device.to_le_bytes());
    out.extend(offset.to_le_bytes());
    out.extend((dims.len() as u32).to_le_bytes());
    dims.iter().for_each(|dim| out.extend(dim.0.to_le_bytes()));
    dims.iter().for_each(|dim| out.extend(dim.1.to_le_bytes()));
}

/// A list as upstream's exporter writes it, with one constant of 2 × 3 floats.
fn list() -> Vec<u8> {
    let mut bytes = b"ETCUDAFQN3".to_vec();
    text(&mut bytes, "ab_so_blob");
    bytes.extend(1_u32.to_le_bytes());
    weight(&mut bytes, "l.weight", 24, 6, 1, 0, &[(2, 3), (3, 1)]);
    bytes
}

fn code(bytes: &[u8]) -> et_error_t {
    Payload::read(bytes, "forward").unwrap_err().code
}

#[test]
fn keys_are_read_or_made_from_the_method() {
    let blob =
        |library: &str, weights: &str| Payload::Blob { library: library.into(), weights: weights.into() };
    assert_eq!(
        Payload::read(b"ab_so_blob\ncd_weights_blob", "x").unwrap(),
        blob("ab_so_blob", "cd_weights_blob")
    );
    assert_eq!(Payload::read(b"", "decode").unwrap(), blob("decode_so_blob", "decode_weights_blob"));
    assert_eq!(Payload::read(b"", "").unwrap(), blob("so_blob", "weights_blob"));
    for bad in [&b"no_second_line"[..], b"\n", b"a\nb\nc", b"\xff\n\xfe"] {
        assert_eq!(code(bad), ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, "{bad:?}");
    }
}

#[test]
fn lists_are_read() {
    let Payload::List { variants, weights } = Payload::read(&list(), "").unwrap() else { panic!() };
    assert_eq!(variants.len(), 1);
    let [weight] = &weights[..] else { panic!() };
    assert_eq!((weight.name.as_str(), weight.bytes, weight.dtype), ("l.weight", 24, Dtype::Float32));
    assert_eq!((&weight.sizes[..], &weight.strides[..], weight.on_device), (&[2, 3][..], &[3, 1][..], true));
    let payload = Payload::read(&list(), "").unwrap();
    assert_eq!(payload.library(89).unwrap(), "ab_so_blob");
    assert!(!payload.has_variants());
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    let whole = list();
    // Shorter than its magic it is no list.
    for end in 10..whole.len() {
        assert_eq!(code(&whole[..end]), ET_ERROR_INVALID_PROGRAM, "{end}");
    }
    assert_eq!(code(&[whole, vec![0]].concat()), ET_ERROR_INVALID_PROGRAM);
    assert_eq!(code(b"ETCUDAFQN9"), ET_ERROR_DELEGATE_INVALID_COMPATIBILITY);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let with = |bytes: u64, dtype: i32, device: i32, offset: i64, dims: &[(i64, i64)]| {
        let mut list = b"ETCUDAFQN3".to_vec();
        text(&mut list, "k");
        list.extend(1_u32.to_le_bytes());
        weight(&mut list, "w", bytes, dtype, device, offset, dims);
        Payload::read(&list, "").map(drop)
    };
    with(24, 6, 0, 0, &[(2, 3), (3, 1)]).unwrap();
    with(0, 6, 1, 7, &[(0, 9)]).unwrap();
    with(4, 6, 1, 0, &[]).unwrap();
    for (bytes, dtype, device, offset, dims) in [
        (23, 6, 1, 0, &[(2, 3), (3, 1)][..]),
        (24, 6, 1, 1, &[(2, 3), (3, 1)]),
        (24, 7, 1, 0, &[(1, 1)]),
        (24, -1, 1, 0, &[(1, 1)]),
        (24, 6, 2, 0, &[(1, 1)]),
        (24, 6, 1, -1, &[(1, 1)]),
        (24, 6, 1, 0, &[(-1, 1)]),
        (24, 6, 1, 0, &[(2, i64::MAX), (3, i64::MAX)]),
        (u64::MAX, 6, 1, 0, &[(1, 1)]),
    ] {
        let error = with(bytes, dtype, device, offset, dims).unwrap_err();
        assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM, "{error}");
    }
}

#[test]
fn the_library_for_the_gpu_is_chosen() {
    let list = |version: u8, variants: &[(u32, u32, u32, &str)]| {
        let mut bytes = b"ETCUDAFQN".to_vec();
        bytes.push(version);
        bytes.extend((variants.len() as u32).to_le_bytes());
        for &(capability, ptx, flags, key) in variants {
            bytes.extend(capability.to_le_bytes());
            bytes.extend(ptx.to_le_bytes());
            if version == b'5' {
                bytes.extend(flags.to_le_bytes());
            }
            text(&mut bytes, key);
        }
        bytes.extend(0_u32.to_le_bytes());
        Payload::read(&bytes, "")
    };
    let four = list(b'4', &[(80, 80, 0, "a"), (90, 90, 0, "b")]).unwrap();
    assert!(four.has_variants());
    for (gpu, key) in [(80, "a"), (90, "b"), (86, "a"), (100, "a")] {
        assert_eq!(four.library(gpu).unwrap(), key, "{gpu}");
    }
    let error = four.library(75).unwrap_err();
    assert!(error.message.contains("80, 90") && error.code == ET_ERROR_NOT_SUPPORTED, "{error}");
    let five = list(b'5', &[(80, 0, 0, "a"), (80, 80, 1, "f")]).unwrap();
    assert_eq!((five.library(80).unwrap(), five.library(120).unwrap()), ("a", "f"));
    for bad in [
        &[][..],
        &[(0, 0, 0, "a")],
        &[(80, 90, 0, "a")],
        &[(80, 0, 0, "a"), (80, 0, 0, "b")],
        &[(80, 0, 1, "a")],
        &[(80, 80, 2, "a")],
        &[(80, 80, 0, "")],
    ] {
        assert!(list(b'5', bad).is_err(), "{bad:?}");
    }
}
