//! Payloads that are well-formed FlatBuffers but say what cannot be: each class with what is told. Nodes have their own file,
//! `hostile_nodes.rs`.
//!
//! Damaged structure (offsets, lengths, absent fields) is the business of `mutants.rs`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::invariants;
use common::made::{catalog, node, *};
use common::refused::*;
use executorch_abi::error::*;

#[test]
fn headers_that_do_not_fit() {
    let made = Made { storage: Storage::Region, ..catalog::linear() };
    let whole = made.bytes();
    let bad = |bytes: &[u8], parts: &[&str]| {
        let error = refused_bytes(&made, bytes, parts);
        assert_eq!(error.code, ET_ERROR_INVALID_ARGUMENT, "{error}");
    };
    for length in 8..30 {
        bad(&whole[..length], &["cut off", "30 bytes"]);
    }
    bad(&whole[..30], &["structure at 32", "truncated"]);
    bad(&whole[..whole.len() - 1], &["constants at"]);
    let patched = |at: usize, bytes: &[u8]| {
        let mut all = whole.clone();
        all[at..at + bytes.len()].copy_from_slice(bytes);
        all
    };
    bad(&patched(8, &29_u16.to_le_bytes()), &["29 bytes", "at least 30"]);
    bad(&patched(8, &33_u16.to_le_bytes()), &["after the header's 33"]);
    for offset in [0, 8, 29] {
        bad(&patched(10, &u32::to_le_bytes(offset)), &["after the header's 30"]);
    }
    for offset in [u32::MAX, u32::MAX - 15, 1 << 31] {
        bad(&patched(10, &offset.to_le_bytes()), &["structure at"]);
        bad(&patched(14, &offset.to_le_bytes()), &["structure at"]);
        bad(&patched(18, &offset.to_le_bytes()), &["constants at"]);
    }
    for size in [0, 7] {
        bad(&patched(14, &u32::to_le_bytes(size)), &["at least 8"]);
    }
    bad(&patched(18, &32_u32.to_le_bytes()), &["inside the structure"]);
    for size in [u64::MAX, u64::MAX - 31, 1 << 63, 1 << 32] {
        bad(&patched(22, &size.to_le_bytes()), &["constants at"]);
    }
}

#[test]
fn formats_of_others() {
    for identifier in [*b"XN02", *b"XN0\0", *b"ET12", *b"XH01", *b"\xff\xff\xff\xff"] {
        let mut bytes = catalog::marked().bytes();
        bytes[4..8].copy_from_slice(&identifier);
        let error =
            refused_bytes(&catalog::marked(), &bytes, &["expected \"XN00\" or \"XN01\"", "executorch 0.2"]);
        assert_eq!(error.code, ET_ERROR_DELEGATE_INVALID_COMPATIBILITY);
    }
    for length in 0..8 {
        let bytes = &catalog::marked().bytes()[..length];
        let error = refused_bytes(&catalog::marked(), bytes, &["truncated"]);
        assert_eq!(error.code, ET_ERROR_DELEGATE_INVALID_COMPATIBILITY);
    }
    // Both versions, with and without a header.
    for (identifier, header) in [(*b"XN00", true), (*b"XN01", true), (*b"XN00", false), (*b"XN01", false)] {
        let storage = if header { Storage::Named } else { Storage::Inline };
        Made { identifier, header, storage, ..catalog::linear() }.read().unwrap();
    }
}

#[test]
fn structure_that_is_cut_off() {
    let made = catalog::marked();
    let bytes = made.bytes();
    for length in (8..bytes.len()).step_by(3) {
        let error = refused_bytes(&made, &bytes[..length], &["damaged", "export the program again"]);
        assert_eq!(error.code, ET_ERROR_DELEGATE_INVALID_COMPATIBILITY);
    }
}

#[test]
fn graphs_without_lists() {
    invalid(linear(|made| made.omit_values = true), &["nodes and values"]);
    invalid(linear(|made| made.omit_nodes = true), &["nodes and values"]);
}

#[test]
fn arguments() {
    let argument =
        |external, flags| linear(|made| (made.values[0].external, made.values[0].flags) = (external, flags));
    invalid(linear(|made| made.arguments = 4097), &["4097 arguments", "at most 4096"]);
    invalid(linear(|made| made.arguments = HUGE), &["at most 4096"]);
    invalid(argument(2, 1), &["value 0", "argument 2", "there are 2"]);
    invalid(argument(HUGE, 1), &["value 0", "there are 2"]);
    invalid(argument(1, 1), &["argument 1", "value 0"]);
    invalid(argument(0, 0), &["flags 0x0", "1 for an input or 2 for an output"]);
    // Upstream freed the caller's memory on other flags.
    for flags in [3, 4, 5, 8, HUGE] {
        invalid(argument(0, flags), &["value 0", &format!("flags {flags:#x}")]);
        invalid(argument(NONE, flags), &["value 0", &format!("flags are {flags:#x}")]);
    }
    invalid(linear(|made| made.values[0].constant = 1), &["both argument 0 and constant 1"]);
    invalid(linear(|made| made.values[3].constant = 1), &["both argument 1 and constant 1"]);
    // One that nothing names is no mistake: the caller gives it for nothing.
    invariants::check(&linear(|made| made.arguments = 3).read().unwrap());
}

#[test]
fn ids() {
    invalid(linear(|made| made.values[1].id = 0), &["value 0 (number 1)", "same id"]);
    invalid(linear(|made| made.values[1].id = NONE), &["not there"]);
    for absent in [4, HUGE, NONE] {
        let says = format!("value {absent}, which does not exist");
        invalid(
            linear(|made| made.nodes = vec![node::fully_connected(absent, 1, Some(2), 3)]),
            &["node 0 (XNNFullyConnected)", "an input is", &says],
        );
        invalid(linear(|made| made.nodes = vec![node::fully_connected(0, absent, Some(2), 3)]), &[&says]);
        invalid(
            linear(|made| made.nodes = vec![node::fully_connected(0, 1, Some(2), absent)]),
            &["its output is", &says],
        );
    }
    invalid(
        linear(|made| made.nodes = vec![node::fully_connected(0, 1, Some(HUGE), 3)]),
        &["does not exist"],
    );
    // Any ids will do, in any order.
    let renamed = linear(|made| {
        made.values.iter_mut().for_each(|value| value.id = 1000 - value.id * 7);
        made.values.reverse();
        made.nodes = vec![node::fully_connected(1000, 993, Some(986), 979)];
    });
    invariants::check(&renamed.read().unwrap());
}

#[test]
fn orders() {
    let chain = |nodes: fn(u32, u32, u32) -> Vec<node::Node>| {
        let mut made = Made::new();
        let x = made.input(fp32(), &[2]);
        let t = made.internal(fp32(), &[2]);
        let y = made.output(fp32(), &[2]);
        made.nodes = nodes(x, t, y);
        made
    };
    chain(|x, t, y| vec![node::unary(Kind::XNNAbs, x, t), node::unary(Kind::XNNExp, t, y)]).read().unwrap();
    // Outputs can be read as well.
    chain(|x, t, y| vec![node::unary(Kind::XNNAbs, x, y), node::unary(Kind::XNNExp, y, t)]).read().unwrap();
    let before = chain(|x, t, y| vec![node::unary(Kind::XNNExp, t, y), node::unary(Kind::XNNAbs, x, t)]);
    invalid(before, &["node 0 (XNNExp)", "value 1, which no node before makes"]);
    invalid(
        chain(|_, t, y| vec![node::unary(Kind::XNNAbs, t, t), node::unary(Kind::XNNAbs, t, y)]),
        &["node 0"],
    );
    let twice = chain(|x, _, y| vec![node::unary(Kind::XNNAbs, x, y), node::unary(Kind::XNNExp, x, y)]);
    invalid(twice, &["node 1 (XNNExp)", "value 2, which another node makes"]);
    invalid(chain(|x, t, _| vec![node::unary(Kind::XNNAbs, x, t)]), &["value 2", "no node makes it"]);
    invalid(
        chain(|x, _, y| vec![node::unary(Kind::XNNAbs, x, x), node::unary(Kind::XNNAbs, x, y)]),
        &["an input"],
    );
    invalid(chain(|_, _, _| vec![]), &["no node makes it"]);
    let constant = linear(|made| made.nodes.push(node::unary(Kind::XNNAbs, 0, 1)));
    invalid(constant, &["node 1 (XNNAbs)", "value 1, which is a constant"]);
    invalid(
        kind(Kind::XNNArgMaxPooling2d, |made| {
            made.nodes = vec![node::argmax_pool(node::Pool::new(2), 0, 1, 1)];
        }),
        &["another node makes"],
    );
}

#[test]
fn dimensions() {
    let dims = |dims: Option<Vec<u32>>, rank| {
        linear(|made| (made.values[0].dims, made.values[0].num_dims) = (dims, rank))
    };
    invalid(dims(None, 2), &["value 0", "0 sizes", "num_dims, which is 2"]);
    invalid(dims(Some(vec![2, 3]), 3), &["2 sizes", "which is 3"]);
    invalid(dims(Some(vec![2, 3]), 0), &["2 sizes", "which is 0"]);
    invalid(dims(Some(vec![2, 3]), HUGE), &["2 sizes"]);
    invalid(dims(Some(vec![1; 7]), 7), &["7 dimensions", "at most 6"]);
    invalid(dims(Some(vec![1; 1000]), 1000), &["at most 6"]);
    for sizes in [vec![HUGE; 2], vec![HUGE; 6], vec![1 << 31, 1 << 30], vec![1 << 16; 4]] {
        invalid(
            dims(Some(sizes.clone()), sizes.len() as u32),
            &["value 0", "more bytes than can be addressed"],
        );
    }
    // Rank 0 may have no list.
    let number = kind(Kind::XNNAbs, |made| {
        for value in &mut made.values {
            (value.dims, value.num_dims) = (None, 0);
        }
    });
    assert!(number.read().unwrap().values[0].dims.is_empty());
}

#[test]
fn elements() {
    let element =
        |datatype, quant| linear(|made| (made.values[0].datatype, made.values[0].quant) = (datatype, quant));
    for (datatype, name) in [
        (Datatype::INVALID, "invalid"),
        (Datatype::PFP32, "pfp32"),
        (Datatype::QINT8, "qint8"),
        (Datatype::QCINT8, "qcint8"),
        (Datatype::QDINT8, "qdint8"),
        (Datatype(15), "datatype 15"),
        (Datatype(-1), "datatype -1"),
        (Datatype(i16::MIN), "datatype -32768"),
    ] {
        invalid(element(datatype, None), &["value 0", name, "without scales"]);
    }
    let tensor = Some(Quant::Tensor { scale: 1.0, zero_point: 0 });
    for datatype in [Datatype::FP32, Datatype::QCINT8, Datatype::QDINT8, Datatype::QBINT4, Datatype(15)] {
        invalid(element(datatype, tensor.clone()), &["one scale, expected qint8, quint8 or qint32"]);
    }
    let channels = Some(Quant::Channel { scales: vec![1.0; 3], dim: 1, index: 0, count: 0 });
    for datatype in [Datatype::FP32, Datatype::QINT8, Datatype::QBINT4] {
        invalid(element(datatype, channels.clone()), &["for each channel, expected qcint8"]);
    }
    for datatype in [Datatype::FP32, Datatype::QCINT4, Datatype::QINT8] {
        let groups = Some(Quant::Group { scales: vec![1.0; 2], dim: 0, size: 3, index: 0, count: 0 });
        invalid(element(datatype, groups), &["for groups, expected qbint4"]);
        invalid(element(datatype, Some(Quant::Token(1))), &["dynamic scales, expected qdint8"]);
    }
    invalid(element(Datatype::QINT8, Some(Quant::Unknown(9))), &["kind 9, which is not known"]);
    // What has scales for its parts is constant, what is quantised while running is neither that nor an argument.
    invalid(element(Datatype::QCINT8, channels), &["qcint8 and an input, expected a constant"]);
    invalid(element(Datatype::QDINT8, Some(Quant::Token(1))), &["an input, expected made by a node"]);
    let fixed = linear(|made| {
        (made.values[1].datatype, made.values[1].quant) = qdint8();
        made.constants[0].truncate(12);
    });
    invalid(fixed, &["a constant, expected made by a node"]);
}

#[test]
fn zero_points_and_scales() {
    let affine = |datatype, scale, zero_point| {
        kind(Kind::XNNAbs, |made| {
            for value in &mut made.values {
                (value.datatype, value.quant) = (datatype, Some(Quant::Tensor { scale, zero_point }));
            }
        })
    };
    affine(Datatype::QINT8, 0.5, -128).read().unwrap();
    affine(Datatype::QUINT8, 0.5, 255).read().unwrap();
    for zero_point in [-129, 128, i32::MIN, i32::MAX] {
        invalid(affine(Datatype::QINT8, 0.5, zero_point), &["zero point is", "expected -128 to 127"]);
    }
    for zero_point in [-1, 256, i32::MIN] {
        invalid(affine(Datatype::QUINT8, 0.5, zero_point), &["expected 0 to 255"]);
    }
    invalid(affine(Datatype::QINT32, 0.5, 1), &["expected 0 to 0"]);
    for scale in [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-45, f32::MIN_POSITIVE / 2.0]
    {
        invalid(affine(Datatype::QINT8, scale, 0), &["scale 0 is", "positive number"]);
        let channels = with(catalog::marked(), |made| {
            made.values[1].quant =
                Some(Quant::Channel { scales: vec![1.0, 1.0, scale, 1.0], dim: 0, index: 0, count: 0 });
        });
        invalid(channels, &["value 1", "its scales: scale 2 is"]);
        let outside = with(catalog::static_qint8(), |made| {
            made.constants[0][4..8].copy_from_slice(&scale.to_le_bytes())
        });
        invalid(outside, &["value 2", "constant 1", "scale 1 is"]);
    }
    // Rounding to bfloat16 must not make infinity of a number.
    invalid(groups(|quant| *quant = group(vec![f32::MAX; 8], 0, 32)), &["scale 0 is inf"]);
}

fn group(scales: Vec<f32>, dim: i32, size: i32) -> Quant {
    Quant::Group { scales, dim, size, index: 0, count: 0 }
}

/// A layer of 4-bit weights of shape [4, 64] with other scales.
fn groups(change: impl FnOnce(&mut Quant)) -> Made {
    let made = catalog::representations()
        .into_iter()
        .find(|(name, _)| name.starts_with("qbint4, float32"))
        .unwrap()
        .1;
    with(made, |made| change(made.values[2].quant.as_mut().unwrap()))
}

#[test]
fn channels_and_groups() {
    let channels = |scales: Vec<f32>, dim| {
        with(catalog::marked(), |made| {
            made.values[1].quant = Some(Quant::Channel { scales, dim, index: 0, count: 0 });
        })
    };
    for dim in [-1, 2, i32::MAX, i32::MIN] {
        invalid(channels(vec![1.0; 4], dim), &["value 1", &format!("dimension {dim}"), "2 dimensions"]);
    }
    for count in [0, 3, 5] {
        invalid(channels(vec![1.0; count], 0), &[&format!("there are {count} scales, expected 4")]);
    }
    invalid(channels(vec![1.0; 3], 1), &["along dimension 1, expected 0, its output channels"]);
    let outside = |index, count| {
        with(catalog::static_qint8(), |made| {
            made.values[2].quant = Some(Quant::Channel { scales: vec![], dim: 0, index, count });
        })
    };
    for count in [0, 2, 4, HUGE] {
        invalid(outside(1, count), &["value 2", &format!("says that it has {count} scales, expected 3")]);
    }
    invalid(outside(4, 3), &["constant 4", "there are 4"]);
    invalid(outside(HUGE, 3), &["there are 4"]);
    // A list that is too long, and one that is cut within a number.
    invalid(outside(2, 3), &["constant 2 has 54 bytes, which are no 4-byte scales"]);
    invalid(
        with(catalog::static_qint8(), |made| made.constants[0].extend(1_f32.to_le_bytes())),
        &["there are 4 scales"],
    );
    invalid(groups(|quant| *quant = group(vec![1.0; 8], 1, 32)), &["dimension 1, expected 0"]);
    for size in [0, -32, i32::MIN, 48, 65, i32::MAX] {
        invalid(
            groups(|quant| *quant = group(vec![1.0; 8], 0, size)),
            &[&format!("have {size} elements"), "divides 64"],
        );
    }
    for count in [0, 7, 9] {
        invalid(
            groups(|quant| *quant = group(vec![1.0; count], 0, 32)),
            &[&format!("there are {count} scales, expected 8")],
        );
    }
    for dims in [vec![256], vec![4, 8, 8], vec![]] {
        let made = with(groups(|_| {}), |made| {
            made.values[2].num_dims = dims.len() as u32;
            made.values[2].dims = Some(dims);
        });
        invalid(made, &["scales for groups", "expected 2"]);
    }
    for rank in [0, -1, 3, i32::MAX, i32::MIN] {
        let made = with(groups(|_| {}), |made| made.values[1].quant = Some(Quant::Token(rank)));
        invalid(made, &["value 1", &format!("{rank} of its 2 dimensions")]);
    }
}

#[test]
fn dynamic_quantisation_of_old() {
    let old = |change: fn(&mut Value)| with(catalog::marked(), |made| change(&mut made.values[0]));
    invalid(old(|value| value.dynamic = Datatype::QUINT8), &["to quint8, expected qint8"]);
    invalid(old(|value| value.dynamic = Datatype(77)), &["to datatype 77"]);
    invalid(
        old(|value| (value.dims, value.num_dims) = (None, 0)),
        &["floating point inputs with dimensions"],
    );
    invalid(old(|value| (value.datatype, value.quant) = qint8(1.0, 0)), &["floating point inputs"]);
    let constant = with(catalog::marked(), |made| made.values[2].dynamic = Datatype::QINT8);
    invalid(constant, &["value 2", "inputs"]);
    let output = with(catalog::marked(), |made| made.values[3].dynamic = Datatype::QINT8);
    invalid(output, &["value 3", "inputs"]);
    // Nothing else can make what it stands for.
    let made = with(catalog::marked(), |made| made.nodes.push(node::unary(Kind::XNNConvert, 3, 0)));
    invalid(made, &["node 1", "another node makes"]);
}

#[test]
fn constants() {
    for storage in [Storage::Inline, Storage::Region, Storage::Named] {
        let header = storage != Storage::Inline;
        let made = |change: fn(&mut Made)| with(Made { storage, header, ..catalog::linear() }, change);
        for constant in [3, HUGE, NONE] {
            let says = format!("constant {constant}");
            let missing = with(made(|_| {}), |made| made.values[1].constant = constant);
            invalid(missing, &["value 1", &says, "there are 3"]);
        }
        // A weight of 48 bytes that has other than that.
        for bytes in [0, 4, 47, 49, 64] {
            let made = with(made(|_| {}), |made| made.constants[0].resize(bytes, 0));
            invalid(made, &["value 1", "needs 48 bytes", &format!("constant 1 has {bytes}")]);
        }
    }
    let none = linear(|made| (made.storage, made.header, made.constants) = (Storage::Inline, false, vec![]));
    invalid(none, &["constant 1", "there are 1"]);
    let outside = |tamper| Made { tamper: Some(tamper), storage: Storage::Region, ..catalog::linear() };
    let says = ["value 1", "constant 1", "the payload has 64 bytes of constants"];
    invalid(outside(|list| list[1].offset = 17), &says[..2]);
    for (offset, size) in
        [(48, 48), (u64::MAX, 48), (u64::MAX - 47, 48), (0, u64::MAX), (1 << 63, 1 << 63), (65, 0)]
    {
        let mut made = Made { storage: Storage::Region, ..catalog::linear() };
        made.tamper = Some(match (offset, size) {
            (48, _) => |list| list[1].offset = 48,
            (u64::MAX, _) => |list| list[1].offset = u64::MAX,
            (0, _) => |list| list[1].size = u64::MAX,
            (65, _) => |list| (list[1].offset, list[1].size) = (65, 0),
            (9_223_372_036_854_775_808, _) => |list| (list[1].offset, list[1].size) = (1 << 63, 1 << 63),
            _ => |list| list[1].offset = u64::MAX - 47,
        });
        invalid(made, &says);
    }
    let named = |tamper| Made { tamper: Some(tamper), ..catalog::linear() };
    invalid(named(|list| list[1].offset = 0), &["both the key \"key 1\" and the offset 0"]);
    invalid(named(|list| list[1].size = 47), &["should have 47 bytes, but named data \"key 1\" has 48"]);
    invalid(named(|list| list[1].key = Some(String::new())), &["constants"]);
    invalid(named(|list| list[1].key = Some("key 2".into())), &["named data \"key 2\" has 16"]);
    let absent =
        refused(named(|list| list[1].key = Some("key 9".into())), &["value 1", "\"key 9\"", "no such data"]);
    assert_eq!(absent.code, ET_ERROR_NOT_FOUND);
    // Neither place goes with the other kind of payload.
    invalid(Made { storage: Storage::Inline, header: true, ..catalog::linear() }, &["with a header"]);
    invalid(Made { storage: Storage::Region, header: false, ..catalog::linear() }, &["there is no header"]);
}

/// What takes time or memory in the square of what the payload holds would not end here.
#[test]
fn a_hundred_thousand_of_everything() {
    const MANY: u32 = 100_000;
    let mut made = Made::new();
    let mut last = made.input(fp32(), &[2]);
    for _ in 0..MANY {
        let next = made.internal(fp32(), &[2]);
        made.node(node::unary(Kind::XNNAbs, last, next));
        last = next;
    }
    let y = made.output(fp32(), &[2]);
    made.node(node::unary(Kind::XNNAbs, last, y));
    assert_eq!(made.read().unwrap().nodes.len(), MANY as usize + 1);
}
