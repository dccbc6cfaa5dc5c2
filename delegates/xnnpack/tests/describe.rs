//! Graphs as people see them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{catalog, node, *};
use executorch_backend_xnnpack::describe::describe;
use executorch_delegate::{Description, Role, Value};

fn of(made: &Made) -> Description {
    describe(&made.read().unwrap(), |i| format!("executor {i}"))
}

/// The detail of the first node of a kind's graph.
fn detail(kind: Kind) -> String {
    let made = catalog::kinds().into_iter().find(|(other, _)| *other == kind).unwrap().1;
    of(&made).nodes.remove(0).detail
}

#[test]
fn nodes_and_values() {
    let described = of(&catalog::linear());
    assert_eq!(described.format, "XNNPACK graph");
    let [layer] = described.nodes.as_slice() else { panic!() };
    assert_eq!((layer.name.as_str(), layer.executor.as_str()), ("XNNFullyConnected", "executor 0"));
    assert_eq!((layer.inputs.as_slice(), layer.outputs.as_slice()), ([0, 1, 2].as_slice(), [3].as_slice()));
    assert_eq!(layer.detail, "clamped to 0 to inf");
    let weight = Value {
        id: 1,
        name: String::new(),
        dtype: "fp32".into(),
        shape: Some(vec![4, 3]),
        role: Role::Constant,
        detail: "48 bytes, named key 1".into(),
    };
    assert_eq!(described.values[1], weight);
    assert_eq!((described.values[0].role, described.values[0].detail.as_str()), (Role::Input, "argument 0"));
    assert_eq!((described.values[3].role, described.values[3].detail.as_str()), (Role::Output, "argument 1"));
}

#[test]
fn parameters() {
    let convolution =
        "kernel 3x2, stride 2x1, padding top 1 bottom 1 left 0 right 1, 2 groups of 2 to 3 channels";
    assert_eq!(detail(Kind::XNNConv2d), convolution);
    assert_eq!(detail(Kind::XNNDepthwiseConv2d), "kernel 3x3, padding 1, 3 groups of 1 to 2 channels");
    assert_eq!(detail(Kind::XNNConvTranspose2d), "kernel 3x3, stride 2x2, padding 1, adjustment 1x0");
    assert_eq!(detail(Kind::XNNMaxPooling2d), "window 2x2, stride 2x2");
    assert_eq!(detail(Kind::XNNGlobalAvgPooling2d), "keeps dimensions");
    assert_eq!(detail(Kind::XNNStaticReshape), "to 3x?x2");
    assert_eq!(detail(Kind::XNNStaticTranspose), "permutation [2, 0, 1]");
    assert_eq!(detail(Kind::XNNStaticSlice), "from [0, 1, 0], 1x2xall");
    assert_eq!(detail(Kind::XNNStaticConstantPad), "[0, 1, 2] before, [1, 0, 3] after, with 1.5");
    assert_eq!(detail(Kind::XNNStaticResizeBilinear2D), "to 7x2, aligned corners");
    assert_eq!(detail(Kind::XNNConcatenate4), "along 1");
    assert_eq!(detail(Kind::XNNELU), "alpha 0.5");
    assert_eq!(detail(Kind::XNNLeakyReLU), "slope -0.25");
    assert_eq!(detail(Kind::XNNClamp), "clamped to -0.5 to 0.75");
    assert_eq!(detail(Kind::XNNAbs), "");
    let mut product = Made::new();
    let a = product.input(fp32(), &[2, 3, 4]);
    let b = product.input(fp32(), &[2, 5, 4]);
    let y = product.output(fp32(), &[2, 3, 5]);
    product.node(node::binary_with(Kind::XNNBatchMatrixMultiply, a, b, y, 1));
    assert_eq!(of(&product).nodes[0].detail, "second factor transposed");
}

#[test]
fn quantisation() {
    let described = of(&catalog::static_qint8());
    let details: Vec<_> = described.values.iter().map(|value| value.detail.as_str()).collect();
    assert_eq!(details[1], "scale 0.05, zero point -3");
    assert!(details[2].starts_with("3 scales along 0 (1.000e-2 to 1.600e-2), 54 bytes"), "{}", details[2]);
    let described = of(&catalog::marked());
    assert_eq!(described.values[1].detail, "a scale for the last 1 dimensions, found while running");
    assert_eq!(described.nodes[0].name, "XNNConvert");
    let (_, grouped) =
        catalog::representations().into_iter().find(|(name, _)| *name == "qbint4, float32 scales").unwrap();
    let detail = &of(&grouped).values[2].detail;
    assert!(detail.starts_with("8 scales for groups of 32 (1.0"), "{detail}");
}

#[test]
fn the_document_is_small_json() {
    let text = serde_json::to_string(&of(&catalog::linear())).unwrap();
    let back: Description = serde_json::from_str(&text).unwrap();
    assert_eq!(back, of(&catalog::linear()));
}
