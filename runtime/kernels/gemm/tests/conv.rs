//! Convolutions against a naive f64 reference, over seeded random shapes, layouts and options.
#![allow(clippy::unwrap_used)] // A test may panic.

mod common;

use common::{Rng, Threads, isas};
use executorch_gemm::conv::{
    ConvPacking, ConvParams, ConvWeight, Epilogue, Layout, PackedConv, Tensor4, Tensor4Mut,
};
use executorch_gemm::{Activation, Isa, Pool, Serial};

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len())]
}

fn reference(
    p: &ConvParams,
    weight: &[f32],
    bias: Option<&[f32]>,
    input: &Tensor4<'_, f32>,
    data: &[f32],
    [image, oc, y, x]: [usize; 4],
) -> f64 {
    let [_, _, h, w] = input.sizes();
    let s = input.strides();
    let ins = p.in_channels / p.groups;
    let group = oc / (p.out_channels / p.groups);
    let mut sum = bias.map_or(0.0, |b| f64::from(b[oc]));
    for ic in 0..ins {
        for ky in 0..p.kernel[0] {
            for kx in 0..p.kernel[1] {
                let iy = (y * p.stride[0] + ky * p.dilation[0]) as isize - p.padding[0][0] as isize;
                let ix = (x * p.stride[1] + kx * p.dilation[1]) as isize - p.padding[1][0] as isize;
                if iy < 0 || ix < 0 || iy >= h as isize || ix >= w as isize {
                    continue;
                }
                let at = image * s[0] + (group * ins + ic) * s[1] + iy as usize * s[2] + ix as usize * s[3];
                let tap = ((oc * ins + ic) * p.kernel[0] + ky) * p.kernel[1] + kx;
                sum += f64::from(data[at]) * f64::from(weight[tap]);
            }
        }
    }
    sum
}

fn check(rng: &mut Rng, isa: Isa, pool: &dyn Pool, p: ConvParams, [n, h, w]: [usize; 3]) {
    let Ok([oh, ow]) = p.out_size([h, w]) else { return };
    let layout = pick(rng, &[Layout::ChannelsFirst, Layout::ChannelsLast]);
    let in_layout = if rng.below(4) > 0 { layout } else { Layout::ChannelsFirst };
    let in_sizes = [n, p.in_channels, h, w];
    let spread = 1 + usize::from(rng.below(6) == 0);
    let in_strides = in_layout.strides(in_sizes).unwrap().map(|s| s * spread);
    let data = rng.floats(in_sizes.iter().product::<usize>() * spread);
    let weight = rng.floats(p.out_channels * p.in_channels / p.groups * p.kernel[0] * p.kernel[1]);
    let k = [p.in_channels / p.groups, p.kernel[0], p.kernel[1]];
    let strides = [k[0] * k[1] * k[2], k[1] * k[2], k[2], 1];
    let bias = rng.floats(p.out_channels);
    let bias = (rng.below(3) > 0).then_some(&bias[..]);
    let packing = ConvPacking { params: p, layout, isa };
    let conv = PackedConv::pack(packing, ConvWeight { data: &weight, strides }, bias, pool).unwrap();

    let input = Tensor4::new(&data, in_sizes, in_strides).unwrap();
    let out_sizes = [n, p.out_channels, oh, ow];
    // Room for a neighbour, as in the output of a concatenation.
    let mut wide = out_sizes;
    wide[1] += rng.below(2) * 3;
    let out_strides = layout.strides(wide).unwrap();
    let mut out = vec![7.0f32; wide.iter().product()];
    let mut output = Tensor4Mut::new(&mut out, out_sizes, out_strides).unwrap();
    let activation =
        pick(rng, &[Activation::None, Activation::Relu, Activation::Clamp(-0.5, 0.5), Activation::HardSwish]);
    let mut added = vec![0.0; wide.iter().product()];
    let residual = (layout == Layout::ChannelsLast && rng.below(2) == 0).then(|| {
        added = rng.floats(added.len());
        Tensor4::new(&added, out_sizes, out_strides).unwrap()
    });
    let mut scratch = vec![f32::NAN; conv.scratch_len(in_sizes, pool).unwrap()];
    conv.run(pool, &mut scratch, &input, &mut output, Epilogue { residual, activation }).unwrap();

    for image in 0..n {
        for oc in 0..wide[1] {
            for y in 0..oh {
                for x in 0..ow {
                    let at: usize = [image, oc, y, x].iter().zip(out_strides).map(|(i, s)| i * s).sum();
                    if oc >= p.out_channels {
                        assert_eq!(out[at], 7.0, "a neighbour was written");
                        continue;
                    }
                    let value =
                        reference(&p, &weight, bias, &input, &data, [image, oc, y, x]) + f64::from(added[at]);
                    let want = match activation {
                        Activation::None => value,
                        Activation::Relu => value.max(0.0),
                        Activation::Clamp(low, high) => value.clamp(low.into(), high.into()),
                        Activation::HardSwish => value * (value + 3.0).clamp(0.0, 6.0) / 6.0,
                    };
                    assert!(
                        (f64::from(out[at]) - want).abs() < 1e-4,
                        "{isa:?} {layout:?} {p:?} {in_sizes:?} {in_strides:?} at {:?}: {}, \
                         expected {want}",
                        [image, oc, y, x],
                        out[at]
                    );
                }
            }
        }
    }
}

fn random_params(rng: &mut Rng) -> ConvParams {
    let groups = pick(rng, &[1, 1, 1, 2, 3]);
    let mut p = ConvParams::new(
        groups * (1 + rng.below(12)),
        groups * (1 + rng.below(20)),
        [1 + rng.below(4), 1 + rng.below(4)],
    );
    p.groups = groups;
    if rng.below(4) == 0 {
        p.kernel = [1, 1];
    }
    p.stride = [1 + rng.below(3), 1 + rng.below(3)];
    p.dilation = [1 + rng.below(2), 1 + rng.below(2)];
    p.padding = [[rng.below(3), rng.below(3)], [rng.below(6), rng.below(3)]];
    if rng.below(2) == 0 {
        p.stride = [1, 1];
        p.padding = [[p.kernel[0] / 2; 2], [p.kernel[1] / 2; 2]];
    }
    p
}

#[test]
fn random_convolutions_match_the_reference() {
    for isa in isas() {
        let mut rng = Rng(11);
        for round in 0..300 {
            let p = random_params(&mut rng);
            let size = [1 + rng.below(2), 1 + rng.below(12), 1 + rng.below(40)];
            let pool: &dyn Pool = if round % 2 == 0 { &Serial } else { &Threads(3) };
            check(&mut rng, isa, pool, p, size);
        }
    }
}

#[test]
fn depthwise_convolutions_match_the_reference() {
    for isa in isas() {
        let mut rng = Rng(5);
        for round in 0..300 {
            let channels = 1 + rng.below(40);
            let mut p = random_params(&mut rng);
            p.kernel = pick(&mut rng, &[[3, 3], [5, 5], [3, 3], [5, 5], [2, 4], [1, 3]]);
            p.in_channels = channels;
            p.groups = channels;
            p.out_channels = channels * pick(&mut rng, &[1, 1, 2, 3]);
            let size = [1 + rng.below(2), 1 + rng.below(20), 1 + rng.below(50)];
            let pool: &dyn Pool = if round % 2 == 0 { &Serial } else { &Threads(3) };
            check(&mut rng, isa, pool, p, size);
        }
    }
}

#[test]
fn model_layers_match_the_reference() {
    for isa in isas() {
        let mut rng = Rng(9);
        for (ic, oc, groups, kernel, stride, size) in [
            (3, 16, 1, 3, 2, 64),
            (3, 64, 1, 7, 2, 48),
            (64, 64, 1, 3, 1, 14),
            (96, 576, 1, 1, 1, 7),
            (300, 40, 1, 3, 1, 7),
            (96, 96, 96, 5, 1, 14),
            (96, 96, 96, 3, 2, 28),
            (48, 40, 1, 1, 2, 15),
        ] {
            for threads in [1, 2, 7] {
                let mut p = ConvParams::new(ic, oc, [kernel; 2]);
                p.groups = groups;
                p.stride = [stride; 2];
                p.padding = [[kernel / 2; 2]; 2];
                check(&mut rng, isa, &Threads(threads), p, [1, size, size]);
            }
        }
    }
}

#[test]
fn bad_convolutions_are_refused() {
    let layout = Layout::ChannelsFirst;
    let mut p = ConvParams::new(4, 4, [3, 3]);
    let weight = vec![0.0; 144];
    let strides = [36, 9, 3, 1];
    assert!(PackedConv::new(p, layout, &weight[..100], strides, None).is_err());
    assert!(PackedConv::new(p, layout, &weight, strides, Some(&[0.0; 3])).is_err());
    let conv = PackedConv::new(p, layout, &weight, strides, None).unwrap();
    assert!(conv.scratch_len([1, 4, 2, 2], &Serial).is_err());
    let data = vec![0.0; 4 * 25];
    let input = Tensor4::dense(&data, [1, 4, 5, 5], layout).unwrap();
    let mut out = vec![0.0; 36];
    let mut last = Tensor4Mut::dense(&mut out, [1, 4, 3, 3], Layout::ChannelsLast).unwrap();
    let mut scratch = vec![0.0; conv.scratch_len([1, 4, 5, 5], &Serial).unwrap()];
    assert!(conv.run(&Serial, &mut scratch, &input, &mut last, Activation::None).is_err());
    let less = scratch.len() - 1;
    let mut first = Tensor4Mut::dense(&mut out, [1, 4, 3, 3], layout).unwrap();
    assert!(conv.run(&Serial, &mut scratch[..less], &input, &mut first, Activation::None).is_err());
    assert!(conv.run(&Serial, &mut scratch, &input, &mut first, Activation::None).is_ok());
    // A residual is for channels last, and has the output's sizes and contiguous channels.
    let residual = |sizes, layout| {
        let conv = PackedConv::new(p, layout, &weight, strides, None).unwrap();
        let mut out = vec![0.0; 36];
        let mut output = Tensor4Mut::dense(&mut out, [1, 4, 3, 3], layout).unwrap();
        let mut scratch = vec![0.0; conv.scratch_len([1, 4, 5, 5], &Serial).unwrap()];
        let input = Tensor4::dense(&data, [1, 4, 5, 5], layout).unwrap();
        let residual = Some(Tensor4::dense(&data, sizes, layout).unwrap());
        let epilogue = Epilogue { residual, activation: Activation::None };
        conv.run(&Serial, &mut scratch, &input, &mut output, epilogue)
    };
    assert!(residual([1, 4, 3, 3], Layout::ChannelsLast).is_ok());
    assert!(residual([1, 4, 3, 3], Layout::ChannelsFirst).is_err());
    assert!(residual([1, 4, 3, 2], Layout::ChannelsLast).is_err());
    p.groups = 3;
    assert!(p.check().is_err());
    p = ConvParams::new(4, 4, [0, 3]);
    assert!(p.check().is_err());
    p = ConvParams::new(1, 1, [2, 2]);
    p.padding = [[usize::MAX, 1]; 2];
    assert!(p.out_size([5, 5]).is_err());
}
