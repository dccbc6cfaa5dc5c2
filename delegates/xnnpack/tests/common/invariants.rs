//! What `graph.rs` promises, checked once more by code that shares nothing with the reader: 128-bit arithmetic, no early
//! ways out. A broken promise is a panic that says which.

use executorch_backend_xnnpack::graph::*;

/// Panics unless all promises hold.
pub fn check(graph: &Graph) {
    let mut owners = vec![0; graph.arguments];
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (i, value) in graph.values.iter().enumerate() {
        let id = ValueId(i as u32);
        check_value(value);
        match value.role {
            Role::Input(argument) => {
                owners[argument] += 1;
                inputs.push(id);
            }
            Role::Output(argument) => {
                owners[argument] += 1;
                outputs.push(id);
            }
            Role::Internal | Role::Constant(_) => {}
        }
    }
    assert_eq!(graph.inputs, inputs);
    assert_eq!(graph.outputs, outputs);
    assert!(owners.iter().all(|&count| count <= 1), "an argument is named twice");
    let mut made: Vec<bool> =
        graph.values.iter().map(|v| matches!(v.role, Role::Input(_) | Role::Constant(_))).collect();
    for node in &graph.nodes {
        for id in &node.inputs {
            assert!(made[id.index()], "{} reads what is not made", node.kind());
        }
        for id in &node.outputs {
            assert!(!made[id.index()], "{} makes what is there", node.kind());
            made[id.index()] = true;
        }
        check_node(graph, node);
    }
    assert!(outputs.iter().all(|id| made[id.index()]), "an output is not made");
}

fn numel(dims: &[usize]) -> i128 {
    // Six sizes of 32 bits do not fit in general; those that do not are no sizes of tensors.
    dims.iter().try_fold(1_i128, |n, &dim| n.checked_mul(dim as i128)).unwrap_or(i128::MAX)
}

fn bytes(value: &Value) -> i128 {
    match &value.element {
        Element::Float32 | Element::Int32 | Element::QInt32(_) | Element::QCInt32(_) => {
            numel(&value.dims).saturating_mul(4)
        }
        Element::Float16 | Element::BFloat16 => numel(&value.dims).saturating_mul(2),
        Element::QCInt4(_) | Element::QBInt4(_) => {
            let mut dims = value.dims.clone();
            if let Some(last) = dims.last_mut() {
                *last = *last / 2 + *last % 2;
            }
            numel(&dims)
        }
        _ => numel(&value.dims),
    }
}

fn check_scale(scale: f32) {
    assert!(scale > 0.0 && scale.is_normal(), "the scale {scale}");
}

fn check_value(value: &Value) {
    assert!(value.dims.len() <= 6);
    assert!(bytes(value) <= isize::MAX as i128, "{:?} overflows", value.dims);
    if let Role::Constant(constant) = &value.role {
        assert_eq!(constant.bytes().len() as i128, bytes(value), "a constant of shape {:?}", value.dims);
        assert_eq!(constant.bytes().as_ptr().addr() % 4, 0, "a constant is not aligned");
    }
    let constant = matches!(value.role, Role::Constant(_));
    match &value.element {
        Element::QInt8(Affine { scale, zero_point }) => {
            check_scale(*scale);
            assert!(i8::try_from(*zero_point).is_ok());
        }
        Element::QUInt8(Affine { scale, zero_point }) => {
            check_scale(*scale);
            assert!(u8::try_from(*zero_point).is_ok());
        }
        Element::QInt32(Affine { scale, zero_point }) => {
            check_scale(*scale);
            assert_eq!(*zero_point, 0);
        }
        Element::QCInt8(p) | Element::QCInt32(p) | Element::QCInt4(p) => {
            assert!(constant);
            assert_eq!(p.scales.len(), value.dims[p.dim]);
            p.scales.iter().copied().for_each(check_scale);
            let four_bit = matches!(value.element, Element::QCInt4(_));
            assert_eq!(p.zero_point, if four_bit { 8 } else { 0 });
        }
        Element::QBInt4(p) => {
            assert!(constant);
            assert_eq!(value.dims.len(), 2);
            assert_eq!((p.dim, p.zero_point), (0, 8));
            assert!(p.group_size > 0);
            assert_eq!(p.scales.len() * p.group_size, value.dims[0] * value.dims[1]);
            assert_eq!(value.dims[1] % p.group_size, 0);
            p.scales.iter().for_each(|scale| check_scale(scale.to_f32()));
        }
        Element::QDInt8 { nonbatch_dims } | Element::QPInt8 { nonbatch_dims } => {
            assert!(matches!(value.role, Role::Internal));
            assert!((1..=value.dims.len()).contains(nonbatch_dims));
        }
        Element::Float32 | Element::Float16 | Element::BFloat16 | Element::Int32 => {}
    }
}

fn check_node(graph: &Graph, node: &Node) {
    if let Some(Clamp { min, max }) = node.clamp {
        assert!(min <= max);
    }
    let (least, most) = match node.op {
        Op::Binary(_) | Op::BatchMatrixMultiply | Op::PRelu => (2, 2),
        Op::FullyConnected | Op::Convolution(_) | Op::Depthwise(_) | Op::Transposed { .. } => (2, 3),
        Op::Concatenate { .. } => (2, 5),
        _ => (1, 1),
    };
    assert!((least..=most).contains(&node.inputs.len()), "{} has {} inputs", node.kind(), node.inputs.len());
    assert_eq!(node.outputs.len(), if matches!(node.op, Op::ArgMaxPool(_)) { 2 } else { 1 });
    let dims: Vec<&[usize]> = node.inputs.iter().map(|id| graph.value(*id).dims.as_slice()).collect();
    let out = graph.value(node.outputs[0]).dims.as_slice();
    check_shapes(node, &dims, out);
    if let Op::ArgMaxPool(_) = node.op {
        let index = graph.value(node.outputs[1]);
        assert_eq!(index.dims.as_slice(), out);
        assert!(matches!(index.element, Element::Int32));
    }
    if matches!(node.op, Op::Convolution(_) | Op::Depthwise(_) | Op::Transposed { .. }) {
        for id in &node.inputs[1..] {
            assert!(matches!(graph.value(*id).role, Role::Constant(_)), "a weight is no constant");
        }
    }
}

fn check_shapes(node: &Node, dims: &[&[usize]], out: &[usize]) {
    let x = dims[0];
    match &node.op {
        Op::Unary(_) | Op::Convert | Op::Copy | Op::Softmax => assert_eq!(x, out),
        Op::Binary(_) | Op::PRelu => {
            assert_eq!(out.len(), x.len().max(dims[1].len()));
            for (i, &size) in out.iter().rev().enumerate() {
                for operand in dims {
                    let own = operand.iter().rev().nth(i).copied().unwrap_or(1);
                    assert!(own == size || own == 1, "{dims:?} to {out:?}");
                }
                assert!(dims.iter().any(|d| d.iter().rev().nth(i).copied().unwrap_or(1) == size));
            }
            assert!(node.op != Op::PRelu || out == x);
        }
        Op::FullyConnected => {
            let (i, o) = if node.transposed_weight { (0, 1) } else { (1, 0) };
            let [.., inputs] = x else { panic!("no channels") };
            assert_eq!(*inputs, dims[1][i]);
            assert_eq!(*out.last().unwrap(), dims[1][o]);
            assert_eq!(out[..out.len() - 1], x[..x.len() - 1]);
            assert_eq!(dims[1].len(), 2);
            check_bias(dims, dims[1][o]);
        }
        Op::BatchMatrixMultiply => {
            let ([.., m, k], [.., p, q]) = (x, dims[1]) else { panic!("too few dimensions") };
            let (k_b, n) = if node.transposed_weight { (q, p) } else { (p, q) };
            assert_eq!(k, k_b);
            assert_eq!(out[out.len() - 2..], [*m, *n]);
        }
        Op::Convolution(c) => {
            check_convolution(c, dims, out, [out[3], c.kernel[0], c.kernel[1], c.group_inputs])
        }
        Op::Depthwise(c) => {
            assert_eq!(c.group_inputs, 1);
            check_convolution(c, dims, out, [1, c.kernel[0], c.kernel[1], out[3]]);
        }
        Op::Transposed { convolution: c, adjustment } => {
            assert_eq!(dims[1], [out[3], c.kernel[0], c.kernel[1], c.group_inputs]);
            check_channels(c, dims, out);
            for i in 0..2 {
                assert!(adjustment[i] < c.stride[i]);
                // The convolution that this is the transposition of takes the output back to the input.
                let padded = out[1 + i] as i128 + c.padding[i].iter().map(|&p| p as i128).sum::<i128>();
                let span = (c.kernel[i] as i128 - 1) * c.dilation[i] as i128 + 1;
                assert_eq!(
                    (padded - adjustment[i] as i128 - span) / c.stride[i] as i128 + 1,
                    x[1 + i] as i128
                );
            }
        }
        Op::AveragePool(p) | Op::MaxPool(p) | Op::ArgMaxPool(p) => {
            assert_eq!((x[0], x[3]), (out[0], out[3]));
            assert!(p.window[0] as i128 * (p.window[1] as i128) < 1 << 31);
            for i in 0..2 {
                assert!(p.window[i] > 0 && p.stride[i] > 0 && p.dilation[i] > 0);
                let span = (p.window[i] as i128 - 1) * p.dilation[i] as i128 + 1;
                assert!(p.padding[i].iter().all(|&padding| (padding as i128) < span));
                check_positions(x[1 + i], p.padding[i], span, p.stride[i], out[1 + i]);
            }
            assert!(matches!(node.op, Op::MaxPool(_)) || p.dilation == [1, 1]);
        }
        Op::GlobalAveragePool { keep_dims } => {
            let [outer @ .., h, w, c] = x else { panic!("too few dimensions") };
            assert!(*h > 0 && *w > 0);
            let expected = if *keep_dims { vec![1, 1, *c] } else { vec![*c] };
            assert_eq!(out, [outer, &expected].concat());
        }
        Op::Reshape(shape) => {
            assert_eq!(numel(x), numel(out));
            assert!(shape.iter().filter(|&&size| size == 0).count() <= 1);
            assert!(shape.iter().zip(out).all(|(&asked, &got)| asked == got || asked == 0));
            assert_eq!(shape.len(), out.len());
        }
        Op::Transpose(permutation) => {
            let mut sorted = permutation.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..x.len()).collect::<Vec<_>>());
            assert!(permutation.iter().zip(out).all(|(&dim, &size)| x[dim] == size));
        }
        Op::Slice { offsets, sizes } => {
            assert!(offsets.len() == x.len() && sizes.len() == x.len() && out.len() == x.len());
            for i in 0..x.len() {
                assert!(offsets[i] + out[i] <= x[i]);
                assert!(sizes[i] == out[i] || sizes[i] == 0 && offsets[i] == 0 && out[i] == x[i]);
            }
        }
        Op::Pad { before, after, .. } => {
            assert!(before.len() == x.len() && after.len() == x.len() && out.len() == x.len());
            for i in 0..x.len() {
                assert_eq!(before[i] as i128 + x[i] as i128 + after[i] as i128, out[i] as i128);
            }
        }
        Op::Resize { size, .. } => {
            assert_eq!(out, [x[0], size[0], size[1], x[3]]);
            assert!(size.iter().all(|size| (1..1 << 24).contains(size)));
            assert!(x[1] > 0 && x[2] > 0);
        }
        Op::Concatenate { axis } => {
            assert_eq!(dims.iter().map(|d| d[*axis] as i128).sum::<i128>(), out[*axis] as i128);
            for operand in dims {
                assert_eq!(operand.len(), out.len());
                assert!((0..out.len()).all(|i| i == *axis || operand[i] == out[i]));
            }
        }
    }
}

fn check_bias(dims: &[&[usize]], outputs: usize) {
    if let Some(bias) = dims.get(2) {
        assert_eq!(numel(bias), outputs as i128);
    }
}

fn check_channels(c: &Convolution, dims: &[&[usize]], out: &[usize]) {
    assert!(c.groups > 0 && c.group_inputs > 0 && c.group_outputs > 0);
    assert_eq!(c.groups as i128 * c.group_inputs as i128, dims[0][3] as i128);
    assert_eq!(c.groups as i128 * c.group_outputs as i128, out[3] as i128);
    assert_eq!(dims[0][0], out[0]);
    check_bias(dims, out[3]);
}

fn check_convolution(c: &Convolution, dims: &[&[usize]], out: &[usize], filter: [usize; 4]) {
    check_channels(c, dims, out);
    assert_eq!(dims[1], filter);
    for i in 0..2 {
        assert!(c.kernel[i] > 0 && c.stride[i] > 0 && c.dilation[i] > 0);
        let span = (c.kernel[i] as i128 - 1) * c.dilation[i] as i128 + 1;
        check_positions(dims[0][1 + i], c.padding[i], span, c.stride[i], out[1 + i]);
    }
}

/// The last window ends within the padded size, and one more would not.
fn check_positions(size: usize, padding: [usize; 2], span: i128, stride: usize, out: usize) {
    assert!(size > 0);
    let padded = size as i128 + padding[0] as i128 + padding[1] as i128;
    let end = |windows: i128| (windows - 1) * stride as i128 + span;
    assert!(out > 0 && end(out as i128) <= padded && end(out as i128 + 1) > padded);
}
