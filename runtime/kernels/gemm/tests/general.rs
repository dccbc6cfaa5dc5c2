//! Batched products, products and convolutions of every number type, and transposed convolutions,
//! against naive references.
#![allow(clippy::unwrap_used)] // A test may panic.

mod common;

use common::{Rng, Threads};
use executorch_gemm::conv::{
    ConvParams, ConvWeight, Layout, PackedConvTransposed, Tensor4, Tensor4Mut, TransposedPacking,
    general_conv, general_conv_transposed,
};
use executorch_gemm::{
    Activation, Batch, Matrix, MatrixMut, Pool, Serial, batched, batched_scratch_len, general_product,
};
use half::{bf16, f16};

#[test]
fn batches_match_the_reference() {
    let mut rng = Rng(21);
    for round in 0..120 {
        let [batch, m, n, k] =
            [rng.below(9), rng.below(40), rng.below(40), if round % 10 == 0 { 0 } else { rng.below(90) }];
        let repeat = rng.below(3) == 0;
        let a = rng.floats(batch * m * k);
        let b = rng.floats(if repeat { n * k } else { batch * n * k });
        // The second operand is transposed, as keys are in attention.
        let a_view = Batch::new(&a, [batch, m, k], [m * k, k, 1]).unwrap();
        let b_step = if repeat { 0 } else { n * k };
        let b_view = Batch::new(&b, [batch, k, n], [b_step, 1, k]).unwrap();
        let pool: &dyn Pool = if round % 2 == 0 { &Serial } else { &Threads(3) };
        let mut scratch = vec![f32::NAN; batched_scratch_len(pool, &a_view, &b_view).unwrap()];
        let mut out = vec![7.0; batch * m * n];
        batched(pool, &mut scratch, 0.5, &a_view, &b_view, &mut out).unwrap();
        for (at, &got) in out.iter().enumerate() {
            let (i, j, item) = (at / n % m, at % n, at / n / m);
            let want: f64 = (0..k)
                .map(|l| f64::from(a[(item * m + i) * k + l]) * f64::from(b[item * b_step + j * k + l]))
                .sum();
            assert!((f64::from(got) - want / 2.0).abs() < 1e-4, "{batch} {m}x{n}x{k}");
        }
    }
}

#[test]
fn large_batches_use_all_threads_and_match() {
    let mut rng = Rng(22);
    let (batch, m, n, k) = (2, 150, 130, 100);
    let (a, b) = (rng.floats(batch * m * k), rng.floats(batch * k * n));
    let a_view = Batch::new(&a, [batch, m, k], [m * k, k, 1]).unwrap();
    let b_view = Batch::new(&b, [batch, k, n], [k * n, n, 1]).unwrap();
    let run = |pool: &dyn Pool| {
        let mut scratch = vec![0.0; batched_scratch_len(pool, &a_view, &b_view).unwrap()];
        let mut out = vec![0.0; batch * m * n];
        batched(pool, &mut scratch, 1.0, &a_view, &b_view, &mut out).unwrap();
        out
    };
    let (one, many) = (run(&Serial), run(&Threads(4)));
    assert!(one.iter().zip(&many).all(|(a, b)| (a - b).abs() < 1e-4));
    let wrong = Batch::new(&b, [batch, n, k], [k * n, k, 1]).unwrap();
    assert!(batched_scratch_len(&Serial, &a_view, &wrong).is_err());
}

#[test]
fn integer_products_wrap() {
    let mut rng = Rng(23);
    for _ in 0..60 {
        let [m, n, k] = [rng.below(20), rng.below(150), rng.below(30)];
        let a: Vec<i8> = (0..m * k).map(|_| rng.next() as i8).collect();
        let b: Vec<i8> = (0..n * k).map(|_| rng.next() as i8).collect();
        let d: Vec<i8> = (0..n).map(|_| rng.next() as i8).collect();
        let mut out = vec![0i8; m * n];
        general_product(
            &Threads(2),
            &Matrix::row_major(&a, m, k).unwrap(),
            &Matrix::row_major(&b, n, k).unwrap().transposed(),
            3,
            Some((2, Matrix::new(&d, [m, n], [0, 1]).unwrap())),
            MatrixMut::row_major(&mut out, m, n).unwrap(),
        )
        .unwrap();
        for (at, &got) in out.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let sum: i64 = (0..k).map(|l| i64::from(a[i * k + l]) * i64::from(b[j * k + l])).sum();
            assert_eq!(got, (3 * sum + 2 * i64::from(d[j])) as i8);
        }
    }
}

#[test]
fn half_products_are_summed_in_f32_and_rounded_once() {
    let mut rng = Rng(24);
    let [m, n, k] = [9, 70, 2000];
    let (a, b) = (rng.floats(m * k), rng.floats(k * n));
    macro_rules! check {
        ($t:ident, $unit:expr) => {
            let a: Vec<$t> = a.iter().map(|&v| $t::from_f32(v)).collect();
            let b: Vec<$t> = b.iter().map(|&v| $t::from_f32(v)).collect();
            let mut out = vec![$t::ZERO; m * n];
            general_product(
                &Threads(3),
                &Matrix::row_major(&a, m, k).unwrap(),
                &Matrix::row_major(&b, k, n).unwrap(),
                1.0,
                None,
                MatrixMut::row_major(&mut out, m, n).unwrap(),
            )
            .unwrap();
            for (at, got) in out.iter().enumerate() {
                let want: f64 = (0..k).map(|l| a[at / n * k + l].to_f64() * b[l * n + at % n].to_f64()).sum();
                assert!((got.to_f64() - want).abs() <= want.abs() * $unit + 1e-4);
            }
        };
    }
    check!(f16, 1.0 / 2048.0);
    check!(bf16, 1.0 / 256.0);
}

fn random_params(rng: &mut Rng) -> ConvParams {
    let groups = 1 + rng.below(3);
    let mut p = ConvParams::new(
        groups * (1 + rng.below(4)),
        groups * (1 + rng.below(4)),
        [1 + rng.below(4), 1 + rng.below(4)],
    );
    p.groups = groups;
    p.stride = [1 + rng.below(3), 1 + rng.below(3)];
    p.dilation = [1 + rng.below(2), 1 + rng.below(3)];
    p.padding = [[rng.below(3), rng.below(3)], [rng.below(3), rng.below(3)]];
    p
}

/// Sums by walking over inputs and kernels, and adding each product to the output it belongs to.
fn scatter(
    p: &ConvParams,
    transposed: bool,
    weight: &[i64],
    input: &[i64],
    [n, h, w]: [usize; 3],
    [oh, ow]: [usize; 2],
) -> Vec<i64> {
    let mut out = vec![0; n * p.out_channels * oh * ow];
    let (ins, outs) = (p.in_channels / p.groups, p.out_channels / p.groups);
    for image in 0..n {
        for ic in 0..p.in_channels {
            for o in 0..outs {
                let oc = ic / ins * outs + o;
                for (ky, kx) in (0..p.kernel[0]).flat_map(|y| (0..p.kernel[1]).map(move |x| (y, x))) {
                    let row = if transposed { ic * outs + o } else { oc * ins + ic % ins };
                    let factor = weight[(row * p.kernel[0] + ky) * p.kernel[1] + kx];
                    let small = if transposed { [h, w] } else { [oh, ow] };
                    let large = if transposed { [oh, ow] } else { [h, w] };
                    for (sy, sx) in (0..small[0]).flat_map(|y| (0..small[1]).map(move |x| (y, x))) {
                        let y = sy * p.stride[0] + ky * p.dilation[0];
                        let x = sx * p.stride[1] + kx * p.dilation[1];
                        let (Some(y), Some(x)) =
                            (y.checked_sub(p.padding[0][0]), x.checked_sub(p.padding[1][0]))
                        else {
                            continue;
                        };
                        if y >= large[0] || x >= large[1] {
                            continue;
                        }
                        let ([iy, ix], [oy, ox]) =
                            if transposed { ([sy, sx], [y, x]) } else { ([y, x], [sy, sx]) };
                        let from = ((image * p.in_channels + ic) * h + iy) * w + ix;
                        let to = ((image * p.out_channels + oc) * oh + oy) * ow + ox;
                        out[to] += factor * input[from];
                    }
                }
            }
        }
    }
    out
}

#[test]
fn general_convolutions_match_the_reference() {
    let mut rng = Rng(25);
    for round in 0..300 {
        let p = random_params(&mut rng);
        let transposed = round % 2 == 0;
        let size = [1 + rng.below(2), 1 + rng.below(9), 1 + rng.below(70)];
        let [n, h, w] = size;
        let extra = [rng.below(p.stride[0]), rng.below(p.stride[1])];
        let out_size = if transposed { p.transposed_out_size([h, w], extra) } else { p.out_size([h, w]) };
        let Ok(out_size @ [oh, ow]) = out_size else { continue };
        let mut integers =
            |len: usize| -> Vec<i64> { (0..len).map(|_| (rng.next() % 19) as i64 - 9).collect() };
        let weight = integers(p.in_channels * p.out_channels / p.groups * p.kernel[0] * p.kernel[1]);
        let data = integers(n * p.in_channels * h * w);
        let bias = integers(p.out_channels);
        let mut want = scatter(&p, transposed, &weight, &data, size, out_size);
        for (at, value) in want.iter_mut().enumerate() {
            *value += bias[at / (oh * ow) % p.out_channels];
        }
        let second = if transposed { p.out_channels } else { p.in_channels } / p.groups;
        let taps = p.kernel[0] * p.kernel[1];
        let strides = [second * taps, taps, p.kernel[1], 1];

        macro_rules! check {
            ($t:ty, $from:expr, $to:expr) => {
                let weight: Vec<$t> = weight.iter().map($from).collect();
                let data: Vec<$t> = data.iter().map($from).collect();
                let bias: Vec<$t> = bias.iter().map($from).collect();
                let weight = ConvWeight { data: &weight, strides };
                let sizes = [n, p.in_channels, h, w];
                let input = Tensor4::dense(&data, sizes, Layout::ChannelsFirst).unwrap();
                let mut out = vec![weight.data[0]; want.len()];
                let sizes = [n, p.out_channels, oh, ow];
                let mut output = Tensor4Mut::dense(&mut out, sizes, Layout::ChannelsFirst).unwrap();
                let (pool, bias) = (Threads(2), Some(&bias[..]));
                if transposed {
                    general_conv_transposed(&pool, &p, extra, weight, bias, &input, &mut output)
                } else {
                    general_conv(&pool, &p, weight, bias, &input, &mut output)
                }
                .unwrap();
                assert!(out.iter().map($to).eq(want.iter().copied()), "{p:?} {size:?}");
            };
        }
        match round / 2 % 4 {
            0 => {
                check!(i64, |&v| v, |&v| v);
            }
            1 => {
                check!(f64, |&v| v as f64, |&v| v as i64);
            }
            2 => {
                check!(f32, |&v| v as f32, |&v| v as i64);
            }
            _ => {
                // Small integers are exact in f32 sums; rounding to f16 keeps those up to 2048.
                if want.iter().all(|v| v.abs() <= 2048) {
                    check!(f16, |&v| f16::from_f64(v as f64), |v| v.to_f64() as i64);
                }
            }
        }
    }
}

#[test]
fn bad_general_convolutions_are_refused() {
    let p = ConvParams::new(2, 2, [1, 1]);
    let data = vec![0i32; 8];
    let input = Tensor4::dense(&data, [1, 2, 2, 2], Layout::ChannelsFirst).unwrap();
    let weight = ConvWeight { data: &data[..4], strides: [2, 1, 1, 1] };
    let mut out = vec![0i32; 8];
    let mut overlapping = Tensor4Mut::new(&mut out, [1, 2, 2, 2], [4, 1, 1, 1]).unwrap();
    assert!(general_conv(&Serial, &p, weight, None, &input, &mut overlapping).is_err());
    let mut output = Tensor4Mut::dense(&mut out, [1, 2, 2, 2], Layout::ChannelsFirst).unwrap();
    let short = ConvWeight { data: &data[..3], strides: [2, 1, 1, 1] };
    assert!(general_conv(&Serial, &p, short, None, &input, &mut output).is_err());
    assert!(general_conv(&Serial, &p, weight, None, &input, &mut output).is_ok());
    assert!(p.transposed_out_size([0, 3], [0, 0]).is_err());
}

#[test]
fn packed_transposed_convolutions_match_the_reference() {
    for isa in common::isas() {
        let mut rng = Rng(26);
        for _ in 0..200 {
            let p = random_params(&mut rng);
            let size @ [n, h, w] = [1 + rng.below(2), 1 + rng.below(9), 1 + rng.below(40)];
            let extra = [rng.below(p.stride[0]), rng.below(p.stride[1])];
            let Ok(out_size @ [oh, ow]) = p.transposed_out_size([h, w], extra) else { continue };
            let taps = p.kernel[0] * p.kernel[1];
            let outs = p.out_channels / p.groups;
            let mut integers =
                |len: usize| -> Vec<i64> { (0..len).map(|_| (rng.next() % 19) as i64 - 9).collect() };
            let weight = integers(p.in_channels * outs * taps);
            let data = integers(n * p.in_channels * h * w);
            let mut want = scatter(&p, true, &weight, &data, size, out_size);
            let bias = integers(p.out_channels);
            for (at, value) in want.iter_mut().enumerate() {
                *value = (*value + bias[at / (oh * ow) % p.out_channels]).max(0);
            }
            let floats = |from: &[i64]| from.iter().map(|&v| v as f32).collect::<Vec<_>>();
            let (weight, bias) = (floats(&weight), floats(&bias));
            let strides = [outs * taps, taps, p.kernel[1], 1];
            let weight = ConvWeight { data: &weight, strides };
            let packing = TransposedPacking { params: p, output_padding: extra, isa };
            let conv = PackedConvTransposed::pack(packing, weight, Some(&bias)).unwrap();

            // The input lies dense, or with gaps between its rows.
            let gap = rng.below(2) * 3;
            let sizes = [n, p.in_channels, h, w];
            let wide = Layout::ChannelsFirst.strides([n, p.in_channels, h, w + gap]).unwrap();
            let mut spread = vec![f32::NAN; n * p.in_channels * h * (w + gap)];
            for (at, &value) in data.iter().enumerate() {
                spread[at / w * (w + gap) + at % w] = value as f32;
            }
            let input = Tensor4::new(&spread, sizes, wide).unwrap();
            let layout = [Layout::ChannelsFirst, Layout::ChannelsLast][rng.below(2)];
            let out_sizes = [n, p.out_channels, oh, ow];
            let out_strides = layout.strides(out_sizes).unwrap();
            let mut out = vec![f32::NAN; want.len()];
            let mut output = Tensor4Mut::new(&mut out, out_sizes, out_strides).unwrap();
            let pool = Threads(1 + rng.below(3));
            let mut scratch = vec![f32::NAN; conv.scratch_len(sizes, &pool).unwrap()];
            conv.run(&pool, &mut scratch, &input, &mut output, Activation::Relu).unwrap();
            for (at, &want) in want.iter().enumerate() {
                let index =
                    [at / (p.out_channels * oh * ow), at / (oh * ow) % p.out_channels, at / ow % oh, at % ow];
                let at: usize = index.iter().zip(out_strides).map(|(i, s)| i * s).sum();
                assert_eq!(out[at], want as f32, "{isa:?} {p:?} {size:?} at {index:?}");
            }
        }
    }
}
