//! Nodes that cannot be: each class with what is told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::invariants;
use common::made::{catalog, node, *};
use common::refused::*;
use executorch_abi::error::ET_ERROR_NOT_IMPLEMENTED;

#[test]
fn kinds_that_nothing_runs() {
    let attention = kind(Kind::XNNAbs, |made| made.nodes = vec![node::attention(0, 0, 0, 1)]);
    let error = refused(attention, &["node 0 (XNNScaledDotProductAttention)", "not supported", "export"]);
    assert_eq!(error.code, ET_ERROR_NOT_IMPLEMENTED);
    for number in [48, 255] {
        let made = kind(Kind::XNNAbs, |made| made.nodes = vec![node::unary(Kind(number), 0, 1)]);
        let error = refused(made, &["node 0", &format!("kind {number} is not known")]);
        assert_eq!(error.code, ET_ERROR_NOT_IMPLEMENTED);
    }
}

#[test]
fn flags_and_limits() {
    for (kind_of, made) in catalog::kinds() {
        let Some(name) = kind_of.variant_name() else { panic!() };
        if catalog::UNARY.contains(&kind_of) && !matches!(kind_of, Kind::XNNELU | Kind::XNNLeakyReLU) {
            let made = with(made, |made| made.nodes = vec![node::unary_with(kind_of, 0, 1, 0x4)]);
            invalid(made, &[name, "flags 0x4"]);
        }
    }
    let layer = |flags| linear(|made| made.nodes = vec![node::fully_connected_with(0, 1, Some(2), 3, flags)]);
    invalid(layer(4), &["flags 0x4"]);
    invalid(layer(HUGE), &["flags 0x"]);
    let limited = |min, max| {
        kind(Kind::XNNClamp, |made| made.nodes = vec![node::unary(Kind::XNNClamp, 0, 1).clamped(min, max)])
    };
    for (min, max) in [(1.0, 0.0), (f32::NAN, 1.0), (0.0, f32::NAN), (f32::INFINITY, f32::NEG_INFINITY)] {
        invalid(limited(min, max), &["node 0 (XNNClamp)", "limited"]);
    }
    limited(0.5, 0.5).read().unwrap();
    let tanh = |min, max| {
        kind(Kind::XNNTanh, |made| made.nodes = vec![node::unary(Kind::XNNTanh, 0, 1).clamped(min, max)])
    };
    invalid(tanh(0.0, 1.0), &["XNNTanh", "does not do"]);
    tanh(f32::NEG_INFINITY, f32::INFINITY).read().unwrap();
    for value in [f32::NAN, f32::INFINITY] {
        invalid(kind(Kind::XNNELU, |made| made.nodes = vec![node::elu(value, 0, 1)]), &["alpha"]);
        invalid(
            kind(Kind::XNNLeakyReLU, |made| made.nodes = vec![node::leaky_relu(value, 0, 1)]),
            &["negative_slope"],
        );
    }
}

#[test]
fn convolutions() {
    type Change = fn(&mut node::Conv);
    let convolution = |change: Change| {
        let mut c = node::Conv {
            padding: [1, 1, 1, 0],
            kernel: [3, 2],
            stride: [2, 1],
            groups: 2,
            ..node::Conv::new(3, 2, 3)
        };
        change(&mut c);
        with(catalog::convolution(), |made| {
            made.nodes = vec![node::conv(Kind::XNNConv2d, c, 0, 1, Some(2), 3)]
        })
    };
    convolution(|_| {}).read().unwrap();
    let zero: [(Change, &str); 6] = [
        (|c| c.kernel[1] = 0, "kernel is [3, 0]"),
        (|c| c.stride[0] = 0, "subsampling is [0, 1]"),
        (|c| c.dilation = [0, 0], "dilation is [0, 0]"),
        (|c| c.groups = 0, "groups is 0"),
        (|c| c.group_inputs = 0, "group_input_channels is 0"),
        (|c| c.group_outputs = 0, "group_output_channels is 0"),
    ];
    for (change, says) in zero {
        invalid(convolution(change), &["node 0 (XNNConv2d)", says, "positive"]);
    }
    let misfit: [(Change, &str); 10] = [
        (|c| c.groups = 3, "3 groups of 2"),
        (|c| c.groups = HUGE, "channels, expected"),
        (|c| (c.groups, c.group_outputs) = (HUGE, HUGE), "expected"),
        (|c| c.group_outputs = 4, "the filter has the shape"),
        (|c| c.kernel = [3, 3], "the filter has the shape"),
        (|c| c.dilation = [9, 1], "does not fit"),
        (|c| c.dilation = [HUGE, HUGE], "does not fit"),
        (|c| c.stride = [1, 1], "declared as [1, 3, 6, 6]"),
        (|c| c.padding = [HUGE; 4], "more bytes than can be addressed"),
        (|c| c.flags = 4, "flags 0x4"),
    ];
    for (change, says) in misfit {
        invalid(convolution(change), &["node 0 (XNNConv2d)", says]);
    }
    let depthwise = kind(Kind::XNNDepthwiseConv2d, |made| {
        let c = node::Conv { padding: [1; 4], groups: 3, ..node::Conv::new(3, 2, 2) };
        made.nodes = vec![node::conv(Kind::XNNDepthwiseConv2d, c, 0, 1, None, 2)];
    });
    invalid(depthwise, &["group_input_channels is 2, expected 1"]);
    let transposed = |change: Change| {
        let mut c =
            node::Conv { padding: [1; 4], stride: [2, 2], adjustment: [1, 0], ..node::Conv::new(3, 2, 4) };
        change(&mut c);
        kind(Kind::XNNConvTranspose2d, |made| {
            made.nodes = vec![node::conv(Kind::XNNConvTranspose2d, c, 0, 1, None, 2)];
        })
    };
    transposed(|_| {}).read().unwrap();
    invalid(transposed(|c| c.adjustment = [2, 0]), &["adjustment is [2, 0]", "less than subsampling"]);
    invalid(transposed(|c| c.padding = [4; 4]), &["leaves nothing"]);
    invalid(transposed(|c| c.padding = [HUGE; 4]), &["leaves nothing"]);
    invalid(transposed(|c| c.stride = [HUGE; 2]), &["more bytes than can be addressed"]);
    invalid(transposed(|c| c.stride = [2, 3]), &["declared as"]);
}

#[test]
fn weights() {
    let variable = with(catalog::convolution(), |made| {
        let w = made.input(fp32(), &[6, 3, 2, 2]);
        let c = node::Conv {
            padding: [1, 1, 1, 0],
            kernel: [3, 2],
            stride: [2, 1],
            groups: 2,
            ..node::Conv::new(3, 2, 3)
        };
        made.nodes = vec![node::conv(Kind::XNNConv2d, c, 0, w, Some(2), 3)];
    });
    invalid(variable, &["filter, value 4, is no constant"]);
    let bias = linear(|made| {
        let b = made.input(fp32(), &[4]);
        made.nodes = vec![node::fully_connected(0, 1, Some(b), 3)];
    });
    invalid(bias, &["bias, value 4, is no constant"]);
    // A product of two inputs is fine.
    let product = linear(|made| {
        let w = made.input(fp32(), &[4, 3]);
        made.nodes = vec![node::fully_connected(0, w, None, 3)];
    });
    invariants::check(&product.read().unwrap());
    for dims in [vec![3], vec![4, 1], vec![2, 2], vec![]] {
        let made = linear(|made| {
            let count = dims.iter().product::<u32>() as usize;
            made.constants[1] = catalog::numbers(count).iter().flat_map(|n| n.to_le_bytes()).collect();
            (made.values[2].num_dims, made.values[2].dims) = (dims.len() as u32, Some(dims.clone()));
        });
        invalid(made, &["the bias has the shape", "expected [4]"]);
    }
    let flat = linear(|made| (made.values[1].dims, made.values[1].num_dims) = (Some(vec![12]), 1));
    invalid(flat, &["the filter has the shape [12]"]);
    let narrow = linear(|made| made.values[0].dims = Some(vec![2, 4]));
    invalid(narrow, &["[2, 4] do not fit a filter for 3 channels"]);
}

#[test]
fn combinations_of_elements() {
    let cases: [(Datatype, Option<Quant>); 3] =
        [plain(Datatype::FP16), plain(Datatype::INT32), qint8(0.5, 0)];
    for (kind_of, _) in catalog::kinds() {
        for element in &cases {
            // The first operand is of another type than the result, which only a conversion may do.
            let made =
                kind(kind_of, |made| (made.values[0].datatype, made.values[0].quant) = element.clone());
            let name = kind_of.variant_name().unwrap();
            match made.read() {
                Ok(graph) => {
                    // What the exporter calls fp32 after a move may be int32.
                    let moves = [
                        Kind::XNNCopy,
                        Kind::XNNStaticReshape,
                        Kind::XNNStaticTranspose,
                        Kind::XNNStaticSlice,
                    ];
                    let moved = element.0 == Datatype::INT32 && moves.contains(&kind_of);
                    assert!(kind_of == Kind::XNNConvert || moved, "{name}");
                    invariants::check(&graph);
                }
                Err(error) => {
                    assert!(error.message.contains(name) && error.message.contains("expected"), "{error}")
                }
            }
        }
    }
    // Moving what is stored cannot change what it stands for.
    for kind_of in [Kind::XNNCopy, Kind::XNNStaticReshape, Kind::XNNMaxPooling2d, Kind::XNNConcatenate2] {
        let made = kind(kind_of, |made| {
            for (value, scale) in made.values.iter_mut().zip([0.5, 0.5, 0.25]) {
                (value.datatype, value.quant) = qint8(scale, 0);
            }
            made.values[0].quant = Some(Quant::Tensor { scale: 0.75, zero_point: 0 });
        });
        invalid(made, &["scale and zero point", "differ"]);
    }
    let pad = kind(Kind::XNNStaticConstantPad, |made| {
        for value in &mut made.values {
            (value.datatype, value.quant) = qint8(0.5, 0);
        }
        made.nodes = vec![node::pad(&[0, 1, 2], &[1, 0, 3], f32::NAN, 0, 1)];
    });
    invalid(pad, &["padding_value is NaN, which qint8 cannot hold"]);
}

#[test]
fn windows() {
    type Change = fn(&mut node::Pool);
    let pool = |change: Change| {
        let mut p = node::Pool::new(2);
        change(&mut p);
        kind(Kind::XNNMaxPooling2d, |made| made.nodes = vec![node::pool(Kind::XNNMaxPooling2d, p, 0, 1)])
    };
    let cases: [(Change, &str); 9] = [
        (|p| p.window = [0, 2], "pooling is [0, 2]"),
        (|p| p.stride = [2, 0], "stride is [2, 0]"),
        (|p| p.dilation = [0, 1], "dilation is [0, 1]"),
        (|p| p.padding = [2, 0, 0, 0], "less than the window's 2"),
        (|p| p.padding = [HUGE; 4], "less than the window's 2"),
        (|p| p.window = [7, 7], "does not fit"),
        (|p| p.window = [1 << 16, 1 << 16], "fewer than 2^31"),
        (|p| p.dilation = [HUGE, 1], "does not fit"),
        (|p| p.stride = [1, 1], "declared as"),
    ];
    for (change, says) in cases {
        invalid(pool(change), &["node 0 (XNNMaxPooling2d)", says]);
    }
    for sizes in [vec![2, 0, 6, 3], vec![2, 6, 3]] {
        let made = kind(Kind::XNNAvgPooling2d, |made| {
            made.values[0].num_dims = sizes.len() as u32;
            made.values[0].dims = Some(sizes.clone());
        });
        invalid(made, &["expected [batch, height, width, channels] with pixels"]);
    }
    let average = kind(Kind::XNNGlobalAvgPooling2d, |made| made.values[0].dims = Some(vec![2, 0, 5, 3]));
    invalid(average, &["no elements to average"]);
    for (height, width) in [(0, 1), (1, 0)] {
        let made = kind(Kind::XNNStaticResizeBilinear2D, |made| {
            made.nodes = vec![node::resize(height, width, 0, 0, 1)]
        });
        invalid(made, &["new size"]);
    }
    let made =
        kind(Kind::XNNStaticResizeBilinear2D, |made| made.nodes = vec![node::resize(1 << 24, 1, 0, 0, 1)]);
    invalid(made, &["at most 16777215"]);
}

#[test]
fn moves() {
    let moved = |kind_of, node: fn() -> node::Node| kind(kind_of, |made| made.nodes = vec![node()]);
    type Case = (Kind, fn() -> node::Node, &'static str);
    let cases: [Case; 17] = [
        (Kind::XNNStaticTranspose, || node::transpose(&[0, 0, 1], 0, 1), "each dimension once"),
        (Kind::XNNStaticTranspose, || node::transpose(&[0, 1, 3], 0, 1), "each dimension once"),
        (Kind::XNNStaticTranspose, || node::transpose(&[HUGE, 1, 0], 0, 1), "each dimension once"),
        (Kind::XNNStaticTranspose, || node::transpose(&[1, 0], 0, 1), "does not have the dimensions"),
        (Kind::XNNStaticTranspose, || node::transpose(&[0; 7], 0, 1), "at most 6"),
        (Kind::XNNStaticReshape, || node::reshape(&[0, 0, 2], 0, 1), "at most one 0"),
        (Kind::XNNStaticReshape, || node::reshape(&[5, 0], 0, 1), "do not fill"),
        (Kind::XNNStaticReshape, || node::reshape(&[HUGE; 6], 0, 1), "overflows"),
        (Kind::XNNStaticReshape, || node::reshape(&[0, HUGE, HUGE, HUGE], 0, 1), "overflows"),
        (
            Kind::XNNStaticSlice,
            || node::slice(&[0, 2, 0], &[1, 2, 0], 0, 1),
            "not within the shape [2, 3, 4]",
        ),
        (Kind::XNNStaticSlice, || node::slice(&[0, 1, 1], &[1, 2, 0], 0, 1), "size 0"),
        (Kind::XNNStaticSlice, || node::slice(&[0, HUGE, 0], &[1, HUGE, 0], 0, 1), "not within"),
        (Kind::XNNStaticSlice, || node::slice(&[0, 1], &[1, 2], 0, 1), "a slice of 2 dimensions"),
        (Kind::XNNStaticSlice, || node::slice(&[0, 1, 0], &[1, 2], 0, 1), "sizes has 2 numbers, expected 3"),
        (
            Kind::XNNStaticConstantPad,
            || node::pad(&[0, 1, 2], &[1, 0], 0.0, 0, 1),
            "post_paddings has 2 numbers",
        ),
        (Kind::XNNStaticConstantPad, || node::pad(&[0, 1], &[1, 0], 0.0, 0, 1), "padding of 2 dimensions"),
        (
            Kind::XNNStaticConstantPad,
            || node::pad(&[HUGE; 3], &[HUGE; 3], 0.0, 0, 1),
            "more bytes than can be addressed",
        ),
    ];
    for (kind_of, node, says) in cases {
        invalid(moved(kind_of, node), &[kind_of.variant_name().unwrap(), says]);
    }
    for axis in [3, HUGE] {
        let made = kind(Kind::XNNConcatenate2, |made| made.nodes = vec![node::concatenate(axis, &[0, 1], 2)]);
        invalid(made, &["cannot be joined", &format!("dimension {axis}")]);
    }
    let made = kind(Kind::XNNConcatenate3, |made| {
        made.nodes = vec![node::concatenate(1, &[0, 1, 2], 3).of(Kind::XNNConcatenate4)]
    });
    invalid(made, &["XNNConcatenate4", "does not exist"]);
    let made = kind(Kind::XNNAdd, |made| made.values[1].dims = Some(vec![5, 2, 3]));
    invalid(made, &["XNNAdd", "do not broadcast"]);
    let made = kind(Kind::XNNPReLU, |made| {
        made.values[1].dims = Some(vec![2]);
        made.constants[0].truncate(8);
    });
    invalid(made, &["XNNPReLU", "do not broadcast"]);
    let made = kind(Kind::XNNBatchMatrixMultiply, |made| made.values[1].dims = Some(vec![2, 5, 5]));
    invalid(made, &["do not fit: 4 and 5 differ"]);
}
