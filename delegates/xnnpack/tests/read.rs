//! Payloads that upstream's exporter wrote, and all kinds made by hand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{Datatype, node, *};
use common::{Program, invariants, programs, read};
use executorch_backend_xnnpack::graph::{Datatype as Type, *};
use executorch_backend_xnnpack::{payload, shape};
use std::collections::HashMap;
use std::sync::Arc;

/// How many nodes of each kind all payloads of a program have.
fn kinds(program: &Program) -> HashMap<&'static str, usize> {
    let mut count = HashMap::new();
    for payload in &program.payloads {
        for node in read(payload, &program.named).unwrap().nodes {
            *count.entry(node.kind()).or_default() += 1;
        }
    }
    count
}

#[test]
fn every_lowered_program_is_read() {
    for path in programs() {
        let program = Program::open(&path);
        for (i, payload) in program.payloads.iter().enumerate() {
            let graph = read(payload, &program.named)
                .unwrap_or_else(|error| panic!("payload {i} of {}: {error}", path.display()));
            assert!(!graph.nodes.is_empty());
            invariants::check(&graph);
        }
    }
}

/// What products work on, as `checks/conformance` writes it.
fn factors(graph: &Graph, node: &Node) -> String {
    let short = |id: ValueId| match graph.value(id).element.datatype() {
        Type::Float32 => "f32",
        Type::Float16 => "f16",
        Type::BFloat16 => "bf16",
        Type::QInt8 => "qs8",
        Type::QCInt8 => "qc8w",
        Type::QCInt4 => "qc4w",
        Type::QBInt4 => "qb4w",
        Type::QDInt8 => "qd8",
        other => panic!("{other:?} is in no such program"),
    };
    let (read, filter, written) = (short(node.inputs[0]), short(node.inputs[1]), short(node.outputs[0]));
    if read == written { format!("{read}*{filter}") } else { format!("{read}*{filter}->{written}") }
}

/// The descriptions of the conformance programs were read from them by other code; coverage is counted by them.
#[test]
fn payloads_hold_what_their_descriptions_say() {
    let mut products = 0;
    for path in executorch_conformance::suites(&executorch_conformance::folder("xnnpack")) {
        let suite = executorch_conformance::Suite::read(&path);
        let program = Program::open(&path.with_extension("pte"));
        let mut described: HashMap<_, _> =
            suite.delegates.iter().map(|(method, parts)| (method.as_str(), parts.iter())).collect();
        for (method, payload) in program.methods.iter().zip(&program.payloads) {
            let part = described.get_mut(method.as_str()).unwrap().next().unwrap();
            let graph = read(payload, &program.named).unwrap();
            assert_eq!(part.split(", ").count(), graph.nodes.len(), "{} {method}", path.display());
            for (node, text) in graph.nodes.iter().zip(part.split(", ")) {
                let (kind, datatype) = text.split_once(' ').unwrap();
                assert_eq!(node.kind(), format!("XNN{kind}"), "{} {method}", path.display());
                if datatype.contains('*') {
                    assert_eq!(factors(&graph, node), datatype, "{} {method}", path.display());
                    products += 1;
                }
            }
        }
        assert!(described.values_mut().all(|rest| rest.next().is_none()), "{}", path.display());
    }
    assert!(products > 200, "only {products} products");
}

/// The networks have these layers by their definitions in torchvision.
#[test]
fn known_networks_have_their_layers() {
    let expected: [(&str, &[(&str, usize)]); 5] = [
        ("add_xnnpack", &[("XNNAdd", 1)]),
        ("mlp_xnnpack", &[("XNNFullyConnected", 3)]),
        ("squeezenet1_1_xnnpack", &[("XNNConv2d", 26), ("XNNMaxPooling2d", 3), ("XNNConcatenate2", 8)]),
        (
            "mobilenet_v3_small_xnnpack",
            &[("XNNDepthwiseConv2d", 11), ("XNNConv2d", 41), ("XNNFullyConnected", 2)],
        ),
        (
            "mobilenet_v3_small_q8_xnnpack",
            &[("XNNDepthwiseConv2d", 11), ("XNNConv2d", 41), ("XNNFullyConnected", 2)],
        ),
    ];
    let mut seen = 0;
    for path in programs() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let Some((_, layers)) = expected.iter().find(|(expected, _)| *expected == name) else { continue };
        let found = kinds(&Program::open(&path));
        for (kind, count) in *layers {
            assert_eq!(found.get(kind), Some(count), "{kind} of {name}: {found:?}");
        }
        seen += 1;
    }
    assert!(seen > 0, "the committed programs are missing");
}

#[test]
fn shapes_follow_the_batch() {
    let Some(path) = programs().into_iter().find(|path| path.ends_with("dynmlp_xnnpack.pte")) else { return };
    let program = Program::open(&path);
    let graph = read(&program.payloads[0], &program.named).unwrap();
    let input = graph.value(graph.inputs[0]).dims.clone();
    for batch in [1, 2, 64, 1000, 0] {
        let mut given = input.clone();
        given[0] = batch;
        let all = shape::infer_all(&graph, &[&given]).unwrap();
        for id in &graph.outputs {
            let mut expected = graph.value(*id).dims.clone();
            expected[0] = batch;
            assert_eq!(all[id.index()], expected);
        }
    }
    assert!(shape::infer_all(&graph, &[&input[..1]]).unwrap_err().message.contains("expected 2 dimensions"));
    assert!(shape::infer_all(&graph, &[]).unwrap_err().message.contains("0 inputs are given, expected 1"));
}

#[test]
fn every_kind_by_hand() {
    let all = catalog::kinds();
    // All of the schema but attention, which is refused, and the absence of a kind.
    assert_eq!(all.len(), Kind::ENUM_VALUES.len() - 2);
    for (kind, made) in all {
        let graph = made.read().unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        invariants::check(&graph);
        assert_eq!(graph.nodes.len(), 1);
        assert_eq!(Some(graph.nodes[0].kind()), kind.variant_name());
    }
}

#[test]
fn parameters_arrive_where_they_belong() {
    let op = |kind: Kind| {
        let made = catalog::kinds().into_iter().find(|(other, _)| *other == kind).unwrap().1;
        made.read().unwrap().nodes.remove(0)
    };
    let convolution = Convolution {
        padding: [[1, 1], [0, 1]],
        kernel: [3, 2],
        stride: [2, 1],
        dilation: [1, 1],
        groups: 2,
        group_inputs: 2,
        group_outputs: 3,
    };
    assert_eq!(op(Kind::XNNConv2d).op, Op::Convolution(convolution));
    let Op::Transposed { adjustment, convolution } = op(Kind::XNNConvTranspose2d).op else { panic!() };
    assert_eq!((adjustment, convolution.stride), ([1, 0], [2, 2]));
    assert_eq!(op(Kind::XNNELU).op, Op::Unary(Unary::Elu { alpha: 0.5 }));
    assert_eq!(op(Kind::XNNLeakyReLU).op, Op::Unary(Unary::LeakyRelu { slope: -0.25 }));
    assert_eq!(op(Kind::XNNClamp).clamp, Some(Clamp { min: -0.5, max: 0.75 }));
    assert_eq!(op(Kind::XNNAbs).clamp, None);
    assert_eq!(op(Kind::XNNStaticResizeBilinear2D).op, Op::Resize { size: [7, 2], align_corners: true });
    assert_eq!(op(Kind::XNNGlobalAvgPooling2d).op, Op::GlobalAveragePool { keep_dims: true });
    let window = Pool { padding: [[0, 0], [0, 0]], window: [2, 3], stride: [2, 3], dilation: [1, 1] };
    assert_eq!(op(Kind::XNNArgMaxPooling2d).op, Op::ArgMaxPool(window));
    let dims = |sizes: &[usize]| sizes.iter().copied().collect::<Dims>();
    let pad = Op::Pad { before: dims(&[0, 1, 2]), after: dims(&[1, 0, 3]), value: 1.5 };
    assert_eq!(op(Kind::XNNStaticConstantPad).op, pad);
    assert_eq!(op(Kind::XNNStaticSlice).op, Op::Slice { offsets: dims(&[0, 1, 0]), sizes: dims(&[1, 2, 0]) });
    assert_eq!(op(Kind::XNNConcatenate3).op, Op::Concatenate { axis: 1 });
    let mut made = catalog::linear();
    made.nodes = vec![node::fully_connected_with(0, 1, Some(2), 3, 1)];
    made.values[1].dims = Some(vec![3, 4]);
    made.nodes[0].debug_handle = 77;
    let read = made.read().unwrap().nodes.remove(0);
    assert!(read.transposed_weight);
    assert_eq!((read.debug_handle, read.inputs.len()), (77, 3));
}

#[test]
fn every_representation_by_hand() {
    for (name, made) in catalog::representations() {
        let graph = made.read().unwrap_or_else(|error| panic!("{name}: {error}"));
        invariants::check(&graph);
        // At whatever address the payload lies.
        let bytes = made.bytes();
        for shift in 0..16 {
            struct Shifted(Vec<u8>, usize);
            impl AsRef<[u8]> for Shifted {
                fn as_ref(&self) -> &[u8] {
                    &self.0[self.1..]
                }
            }
            let shifted = Shifted([vec![0xee; shift], bytes.clone()].concat(), shift);
            let moved = common::read_shared(Arc::new(shifted), &made.named()).unwrap();
            invariants::check(&moved);
            for (value, other) in graph.values.iter().zip(&moved.values) {
                if let (Role::Constant(a), Role::Constant(b)) = (&value.role, &other.role) {
                    assert_eq!(a.bytes(), b.bytes());
                    assert_eq!(a.key, b.key);
                }
            }
        }
    }
}

#[test]
fn constants_are_those_that_were_written() {
    for storage in [Storage::Inline, Storage::Region, Storage::Named] {
        let header = storage != Storage::Inline;
        let made = Made { storage, header, ..catalog::linear() };
        let graph = made.read().unwrap();
        for (value, expected) in [(1, 12), (2, 4)] {
            let Role::Constant(constant) = &graph.values[value].role else { panic!() };
            let bytes: Vec<u8> = catalog::numbers(expected).iter().flat_map(|n| n.to_le_bytes()).collect();
            assert_eq!(constant.bytes(), bytes);
            assert_eq!(constant.key.is_some(), storage == Storage::Named);
        }
    }
}

#[test]
fn constants_are_fetched_once() {
    let made = catalog::static_qint8();
    let (named, asked) = (made.named(), std::cell::RefCell::new(Vec::new()));
    payload::read(Arc::new(made.bytes()), &|key| {
        asked.borrow_mut().push(key.to_owned());
        let (owner, range) = &named[key];
        Ok(Constant::whole(owner.clone(), range.size as usize))
    })
    .unwrap();
    let mut asked = asked.into_inner();
    asked.sort();
    assert_eq!(asked, ["key 1", "key 2", "key 3"]);
}

#[test]
fn inputs_marked_for_quantisation_get_a_value_and_a_node() {
    let graph = catalog::marked().read().unwrap();
    let names: Vec<_> = graph.nodes.iter().map(Node::kind).collect();
    assert_eq!(names, ["XNNConvert", "XNNFullyConnected"]);
    let (convert, layer) = (&graph.nodes[0], &graph.nodes[1]);
    assert_eq!(convert.inputs[0], graph.inputs[0]);
    assert_eq!(layer.inputs[0], convert.outputs[0]);
    let (input, twin) = (graph.value(convert.inputs[0]), graph.value(convert.outputs[0]));
    assert_eq!((input.element.datatype(), twin.element.datatype()), (Type::Float32, Type::QDInt8));
    assert_eq!((input.serialized_id, &input.dims), (twin.serialized_id, &twin.dims));
}

/// Upstream multiplies by 1.00389105 and drops the low half of the bits.
#[test]
fn scales_of_groups_are_rounded_as_upstream_does_it() {
    let named = |name: &str| {
        let made = catalog::representations().into_iter().find(|(other, _)| *other == name).unwrap().1;
        let graph = made.read().unwrap();
        let Element::QBInt4(groups) = &graph.values[2].element else { panic!() };
        groups.scales.iter().map(|scale| scale.to_bits()).collect::<Vec<_>>()
    };
    let scales = catalog::scales(8);
    let expected: Vec<u16> =
        scales.iter().map(|scale| ((scale * 1.003_891_f32).to_bits() >> 16) as u16).collect();
    assert_eq!(named("qbint4, float32 scales"), expected);
    let dropped: Vec<u16> = scales.iter().map(|scale| (scale.to_bits() >> 16) as u16).collect();
    assert_eq!(named("qbint4, bfloat16 scales"), dropped);
    assert_ne!(expected, dropped);
}

/// The exporter declares them, and what a transposition makes of them, as fp32.
#[test]
fn places_of_maxima_are_integers() {
    let (_, mut made) =
        catalog::kinds().into_iter().find(|(kind, _)| *kind == Kind::XNNArgMaxPooling2d).unwrap();
    let moved = made.output(fp32(), &[1, 2, 2, 2]);
    made.node(node::transpose(&[0, 3, 1, 2], 2, moved));
    let sum = made.output(fp32(), &[1, 2, 2, 2]);
    made.node(node::binary(Kind::XNNAdd, 1, 1, sum));
    let graph = made.read().unwrap();
    invariants::check(&graph);
    let types = graph.values.iter().map(|value| value.element.datatype());
    assert_eq!(
        types.collect::<Vec<_>>(),
        [Type::Float32, Type::Float32, Type::Int32, Type::Int32, Type::Float32]
    );
}

/// The exporter declares images that are quantised dynamically in the order of PyTorch's dimensions.
#[test]
fn dynamically_quantised_images_have_the_shape_that_is_made() {
    let made = |declared: &[u32]| {
        let mut made = Made::new();
        let x = made.input(fp32(), &[1, 6, 5, 3]);
        let q = made.internal((Datatype::QDINT8, Some(Quant::Token(3))), declared);
        let w = made.constant_bytes(
            per_channel(Datatype::QCINT8, &catalog::scales(2), 0),
            &[2, 1, 1, 3],
            &[3; 6],
        );
        let y = made.output(fp32(), &[1, 6, 5, 2]);
        made.node(node::unary(Kind::XNNConvert, x, q));
        made.node(node::conv(Kind::XNNConv2d, node::Conv::new(1, 3, 2), q, w, None, y));
        made
    };
    let graph = made(&[1, 3, 6, 5]).read().unwrap();
    invariants::check(&graph);
    assert_eq!(graph.values[1].dims.as_slice(), [1, 6, 5, 3]);
    assert!(made(&[1, 3, 6, 6]).read().unwrap_err().message.contains("declared as [1, 3, 6, 6]"));
}
