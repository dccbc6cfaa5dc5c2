//! Shapes of windows over images, against those that PyTorch 2.13 gives for parameters drawn by chance, and of everything
//! that depends on what a call brings.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{catalog, node, *};
use executorch_backend_xnnpack::graph::{Dims, Graph};
use executorch_backend_xnnpack::shape;

type Pair = [u32; 2];

/// Size, kernel, stride, padding, dilation; size of `conv2d`.
const CONVOLUTIONS: [(Pair, Pair, Pair, Pair, Pair, Pair); 14] = [
    ([9, 4], [1, 1], [2, 2], [0, 0], [1, 3], [5, 2]),
    ([7, 1], [2, 1], [3, 1], [1, 1], [1, 3], [3, 3]),
    ([2, 10], [3, 2], [1, 3], [2, 2], [1, 2], [4, 4]),
    ([2, 9], [1, 1], [3, 1], [1, 2], [3, 2], [2, 13]),
    ([6, 8], [4, 3], [2, 1], [0, 2], [1, 1], [2, 10]),
    ([10, 5], [4, 3], [3, 2], [1, 2], [1, 1], [3, 4]),
    ([9, 7], [2, 3], [1, 2], [1, 0], [3, 1], [8, 3]),
    ([9, 10], [3, 3], [3, 2], [2, 1], [3, 2], [3, 4]),
    ([5, 11], [4, 3], [3, 2], [2, 1], [1, 2], [2, 5]),
    ([7, 7], [4, 1], [1, 2], [1, 2], [2, 1], [3, 6]),
    ([7, 9], [3, 4], [2, 3], [1, 0], [1, 1], [4, 2]),
    ([3, 3], [2, 2], [1, 2], [2, 0], [2, 2], [5, 1]),
    ([10, 11], [1, 4], [3, 3], [1, 1], [2, 2], [4, 3]),
    ([6, 10], [1, 1], [1, 3], [0, 2], [1, 2], [6, 5]),
];

/// Size, kernel, stride, padding, dilation, output padding; size of `conv_transpose2d`.
const TRANSPOSED: [(Pair, Pair, Pair, Pair, Pair, Pair, Pair); 12] = [
    ([4, 1], [1, 4], [2, 2], [1, 1], [1, 1], [0, 1], [5, 3]),
    ([7, 5], [3, 1], [3, 2], [2, 1], [1, 2], [0, 1], [17, 8]),
    ([6, 2], [2, 2], [2, 3], [0, 0], [3, 2], [1, 2], [15, 8]),
    ([1, 1], [3, 4], [2, 1], [2, 2], [2, 2], [1, 0], [2, 3]),
    ([6, 3], [1, 1], [2, 3], [0, 1], [1, 2], [1, 0], [12, 5]),
    ([7, 6], [4, 4], [2, 3], [0, 2], [1, 1], [0, 0], [16, 15]),
    ([2, 5], [4, 2], [3, 3], [1, 2], [2, 1], [2, 2], [10, 12]),
    ([2, 3], [2, 3], [2, 3], [1, 0], [1, 3], [1, 1], [3, 14]),
    ([6, 5], [4, 2], [3, 1], [2, 2], [1, 2], [0, 0], [15, 3]),
    ([7, 7], [2, 2], [1, 2], [2, 2], [1, 3], [0, 1], [4, 13]),
    ([6, 5], [4, 1], [3, 1], [0, 0], [2, 1], [0, 0], [22, 5]),
    ([5, 1], [1, 4], [2, 3], [2, 2], [3, 1], [1, 1], [6, 1]),
];

/// Size, window, stride, padding, dilation; size of `max_pool2d`.
const POOLS: [(Pair, Pair, Pair, Pair, Pair, Pair); 14] = [
    ([9, 9], [4, 2], [3, 2], [1, 0], [2, 1], [2, 4]),
    ([7, 8], [3, 1], [2, 4], [0, 0], [2, 1], [2, 2]),
    ([13, 3], [3, 2], [3, 2], [1, 0], [1, 2], [5, 1]),
    ([8, 3], [2, 2], [4, 4], [1, 1], [1, 2], [3, 1]),
    ([6, 2], [3, 1], [3, 4], [1, 0], [2, 2], [2, 1]),
    ([9, 10], [3, 1], [1, 2], [0, 0], [2, 2], [5, 5]),
    ([1, 13], [2, 3], [2, 4], [1, 1], [1, 2], [1, 3]),
    ([12, 6], [1, 3], [1, 2], [0, 0], [2, 1], [12, 2]),
    ([11, 2], [3, 1], [2, 1], [1, 0], [2, 1], [5, 2]),
    ([6, 9], [4, 3], [2, 1], [2, 0], [1, 1], [4, 7]),
    ([5, 1], [2, 2], [3, 3], [0, 1], [2, 1], [1, 1]),
    ([5, 6], [1, 3], [1, 1], [0, 0], [2, 1], [5, 4]),
    ([4, 14], [2, 4], [3, 1], [0, 0], [1, 2], [1, 8]),
    ([7, 3], [1, 1], [4, 3], [0, 0], [1, 2], [2, 1]),
];

/// A graph of one node over an image of one channel, whose output has the size that is expected.
fn image(
    size: Pair,
    expected: Pair,
    weight: Option<Pair>,
    add: impl Fn(u32, u32, u32) -> node::Node,
) -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &[2, size[0], size[1], 1]);
    let w = weight.map_or(NONE, |[height, width]| {
        made.constant(fp32(), &[1, height, width, 1], &catalog::numbers((height * width) as usize))
    });
    let y = made.output(fp32(), &[2, expected[0], expected[1], 1]);
    made.node(add(x, w, y));
    made
}

/// The graph is read as PyTorch has it, not otherwise, and its shapes follow the batch.
fn check(what: &str, made: impl Fn(Pair) -> Made, expected: Pair) {
    let graph = made(expected).read().unwrap_or_else(|error| panic!("{what}: {error}"));
    for wrong in [[expected[0] + 1, expected[1]], [expected[0], expected[1] - 1]] {
        assert!(made(wrong).read().unwrap_err().message.contains("declared as"), "{what}");
    }
    let mut given = graph.value(graph.inputs[0]).dims.clone();
    given[0] = 7;
    let out = last(&graph, &[&given]).unwrap();
    assert_eq!(out.as_slice(), [7, expected[0] as usize, expected[1] as usize, 1], "{what}");
}

/// The shape of the last output for other inputs.
fn last(graph: &Graph, inputs: &[&[usize]]) -> executorch_abi::Result<Dims> {
    Ok(shape::infer_all(graph, inputs)?[graph.outputs.last().unwrap().index()].clone())
}

#[test]
fn convolutions() {
    for case @ (size, kernel, stride, padding, dilation, expected) in CONVOLUTIONS {
        let [h, w] = padding;
        let c = node::Conv { kernel, stride, dilation, padding: [h, w, h, w], ..node::Conv::new(1, 1, 1) };
        for kind in [Kind::XNNConv2d, Kind::XNNDepthwiseConv2d] {
            let made = |out| image(size, out, Some(kernel), |x, w, y| node::conv(kind, c, x, w, None, y));
            check(&format!("{kind:?} of {case:?}"), made, expected);
        }
    }
}

#[test]
fn transposed_convolutions() {
    for case @ (size, kernel, stride, padding, dilation, adjustment, expected) in TRANSPOSED {
        let [h, w] = padding;
        let c = node::Conv {
            kernel,
            stride,
            dilation,
            adjustment,
            padding: [h, w, h, w],
            ..node::Conv::new(1, 1, 1)
        };
        let node = |x, w, y| node::conv(Kind::XNNConvTranspose2d, c, x, w, None, y);
        check(&format!("{case:?}"), |out| image(size, out, Some(kernel), node), expected);
    }
}

#[test]
fn pools() {
    for case @ (size, window, stride, padding, dilation, expected) in POOLS {
        let [h, w] = padding;
        let p = node::Pool { window, stride, dilation, padding: [h, w, h, w], flags: 0x40 };
        let node = |x, _, y| node::pool(Kind::XNNMaxPooling2d, p, x, y);
        check(&format!("{case:?}"), |out| image(size, out, None, node), expected);
    }
}

/// The graph of a kind, read.
fn graph(kind: Kind) -> Graph {
    catalog::kinds().into_iter().find(|(other, _)| *other == kind).unwrap().1.read().unwrap()
}

#[test]
fn shapes_of_a_call() {
    let out = |kind, inputs: &[&[usize]]| last(&graph(kind), inputs).map(|dims| dims.to_vec());
    assert_eq!(out(Kind::XNNAdd, &[&[1, 1, 1, 1], &[4, 1, 9]]).unwrap(), [1, 4, 1, 9]);
    assert_eq!(out(Kind::XNNAdd, &[&[2, 3, 0, 5], &[1, 1, 5]]).unwrap(), [2, 3, 0, 5]);
    assert!(
        out(Kind::XNNAdd, &[&[2, 3, 4, 5], &[1, 2, 5]]).unwrap_err().message.contains("do not broadcast")
    );
    assert_eq!(out(Kind::XNNBatchMatrixMultiply, &[&[6, 1, 8], &[6, 8, 2]]).unwrap(), [6, 1, 2]);
    assert_eq!(out(Kind::XNNBatchMatrixMultiply, &[&[1, 1, 8], &[6, 8, 2]]).unwrap(), [6, 1, 2]);
    assert!(
        out(Kind::XNNBatchMatrixMultiply, &[&[6, 1, 8], &[6, 7, 2]]).unwrap_err().message.contains("differ")
    );
    assert_eq!(out(Kind::XNNFullyConnected, &[&[0, 3]]).unwrap(), [0, 4]);
    assert!(out(Kind::XNNFullyConnected, &[&[5, 2]]).unwrap_err().message.contains("3 channels"));
    // What is left over follows the number of elements.
    assert_eq!(out(Kind::XNNStaticReshape, &[&[5, 3, 2]]).unwrap(), [3, 5, 2]);
    assert_eq!(out(Kind::XNNStaticReshape, &[&[5, 0, 2]]).unwrap(), [3, 0, 2]);
    assert!(out(Kind::XNNStaticReshape, &[&[5, 1, 1]]).unwrap_err().message.contains("do not fill"));
    assert_eq!(out(Kind::XNNStaticSlice, &[&[9, 3, 6]]).unwrap(), [1, 2, 6]);
    assert!(out(Kind::XNNStaticSlice, &[&[9, 2, 6]]).unwrap_err().message.contains("not within"));
    assert_eq!(out(Kind::XNNConcatenate3, &[&[1, 4, 8], &[1, 0, 8], &[1, 5, 8]]).unwrap(), [1, 9, 8]);
    assert!(
        out(Kind::XNNConcatenate2, &[&[1, 4, 8], &[2, 4, 8]])
            .unwrap_err()
            .message
            .contains("cannot be joined")
    );
    assert_eq!(out(Kind::XNNStaticConstantPad, &[&[0, 5, 6]]).unwrap(), [1, 6, 11]);
    assert_eq!(out(Kind::XNNStaticTranspose, &[&[7, 8, 9]]).unwrap(), [9, 7, 8]);
    assert_eq!(out(Kind::XNNGlobalAvgPooling2d, &[&[1, 9, 9, 4]]).unwrap(), [1, 1, 1, 4]);
    assert_eq!(out(Kind::XNNStaticResizeBilinear2D, &[&[3, 9, 9, 4]]).unwrap(), [3, 7, 2, 4]);
    assert_eq!(out(Kind::XNNArgMaxPooling2d, &[&[1, 5, 8, 2]]).unwrap(), [1, 2, 2, 2]);
    assert!(out(Kind::XNNPReLU, &[&[1, 4, 5, 1]]).unwrap_err().message.contains("slopes"));
    let says = out(Kind::XNNAbs, &[&[usize::MAX, 2, 1, 1]]).unwrap_err();
    assert!(says.message.contains("more bytes than can be addressed"), "{says}");
    let says = out(Kind::XNNStaticConstantPad, &[&[1, 1, isize::MAX as usize]]).unwrap_err();
    assert!(says.message.contains("more bytes"), "{says}");
}

/// The exporter declares a single number as a vector of one; the caller's has no dimensions.
#[test]
fn single_numbers() {
    let mut made = Made::new();
    let (x, z) = (made.input(fp32(), &[1]), made.input(fp32(), &[1]));
    let y = made.output(fp32(), &[1]);
    made.node(node::binary(Kind::XNNMultiply, x, z, y));
    let graph = made.read().unwrap();
    assert_eq!(last(&graph, &[&[], &[]]).unwrap().as_slice(), [0; 0]);
    assert_eq!(last(&graph, &[&[1], &[]]).unwrap().as_slice(), [1]);
    assert!(last(&graph, &[&[1, 1], &[]]).is_err());
}
