//! Times the convolutions of three image networks on two threads (or as many as the first argument
//! says), in both layouts, and prints microseconds and GFLOP/s (medians).

use executorch_gemm::conv::{ConvParams, Layout, PackedConv, Tensor4, Tensor4Mut};
use executorch_gemm::{Activation, Pool};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

include!("support/spin_pool.rs");

/// Input channels, output channels, groups, kernel, stride, input size, how often.
type Layer = (usize, usize, usize, usize, usize, usize, usize);

const MOBILENET_V3_SMALL: &[Layer] = &[
    (3, 16, 1, 3, 2, 224, 1),
    (16, 16, 16, 3, 2, 112, 1),
    (16, 16, 1, 1, 1, 56, 1),
    (16, 72, 1, 1, 1, 56, 1),
    (72, 72, 72, 3, 2, 56, 1),
    (72, 24, 1, 1, 1, 28, 1),
    (24, 88, 1, 1, 1, 28, 1),
    (88, 88, 88, 3, 1, 28, 1),
    (88, 24, 1, 1, 1, 28, 1),
    (24, 96, 1, 1, 1, 28, 1),
    (96, 96, 96, 5, 2, 28, 1),
    (96, 40, 1, 1, 1, 14, 1),
    (40, 240, 1, 1, 1, 14, 2),
    (240, 240, 240, 5, 1, 14, 2),
    (240, 40, 1, 1, 1, 14, 2),
    (40, 120, 1, 1, 1, 14, 1),
    (120, 120, 120, 5, 1, 14, 1),
    (120, 48, 1, 1, 1, 14, 1),
    (48, 144, 1, 1, 1, 14, 1),
    (144, 144, 144, 5, 1, 14, 1),
    (144, 48, 1, 1, 1, 14, 1),
    (48, 288, 1, 1, 1, 14, 1),
    (288, 288, 288, 5, 2, 14, 1),
    (288, 96, 1, 1, 1, 7, 1),
    (96, 576, 1, 1, 1, 7, 3),
    (576, 576, 576, 5, 1, 7, 2),
    (576, 96, 1, 1, 1, 7, 2),
];
const SQUEEZENET1_1: &[Layer] = &[
    (3, 64, 1, 3, 2, 224, 1),
    (64, 16, 1, 1, 1, 55, 1),
    (16, 64, 1, 1, 1, 55, 2),
    (16, 64, 1, 3, 1, 55, 2),
    (128, 16, 1, 1, 1, 55, 1),
    (128, 32, 1, 1, 1, 27, 1),
    (32, 128, 1, 1, 1, 27, 2),
    (32, 128, 1, 3, 1, 27, 2),
    (256, 32, 1, 1, 1, 27, 1),
    (256, 48, 1, 1, 1, 13, 1),
    (48, 192, 1, 1, 1, 13, 2),
    (48, 192, 1, 3, 1, 13, 2),
    (384, 48, 1, 1, 1, 13, 1),
    (384, 64, 1, 1, 1, 13, 1),
    (64, 256, 1, 1, 1, 13, 2),
    (64, 256, 1, 3, 1, 13, 2),
    (512, 64, 1, 1, 1, 13, 1),
    (512, 1000, 1, 1, 1, 13, 1),
];
const RESNET18: &[Layer] = &[
    (3, 64, 1, 7, 2, 224, 1),
    (64, 64, 1, 3, 1, 56, 4),
    (64, 128, 1, 3, 2, 56, 1),
    (128, 128, 1, 3, 1, 28, 3),
    (64, 128, 1, 1, 2, 56, 1),
    (128, 256, 1, 3, 2, 28, 1),
    (256, 256, 1, 3, 1, 14, 3),
    (128, 256, 1, 1, 2, 28, 1),
    (256, 512, 1, 3, 2, 14, 1),
    (512, 512, 1, 3, 1, 7, 3),
    (256, 512, 1, 1, 2, 14, 1),
];

fn main() {
    let threads = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2);
    let models = [
        ("mobilenet_v3_small", MOBILENET_V3_SMALL),
        ("squeezenet1_1", SQUEEZENET1_1),
        ("resnet18", RESNET18),
    ];
    with_pool(threads, |pool| {
        for (name, layers) in models {
            println!("{name}");
            let mut totals = [0.0; 2];
            for &(ic, oc, groups, kernel, stride, size, count) in layers {
                let mut p = ConvParams::new(ic, oc, [kernel; 2]);
                p.groups = groups;
                p.stride = [stride; 2];
                p.padding = [[kernel / 2; 2]; 2];
                let [oh, ow] = p.out_size([size; 2]).expect("the layer fits");
                let k = ic / groups * kernel * kernel;
                let weight: Vec<f32> = (0..oc * k).map(|i| (i % 7) as f32 - 3.0).collect();
                let data: Vec<f32> = (0..ic * size * size).map(|i| (i % 5) as f32 - 2.0).collect();
                let mut out = vec![0.0f32; oc * oh * ow];
                let flops = 2.0 * (oc * oh * ow * k) as f64;
                print!(
                    "  {:<36}",
                    format!("{ic}→{oc} /{groups} {kernel}×{kernel} s{stride} {size}² ×{count}")
                );
                let layouts = [Layout::ChannelsFirst, Layout::ChannelsLast];
                for (layout, total) in layouts.into_iter().zip(&mut totals) {
                    let strides = [k, kernel * kernel, kernel, 1];
                    let conv = PackedConv::new(p, layout, &weight, strides, None).expect("valid");
                    let sizes = [1, ic, size, size];
                    let mut scratch = vec![0.0; conv.scratch_len(sizes, pool).expect("valid")];
                    let input = Tensor4::dense(&data, sizes, layout).expect("sized above");
                    let mut times = Vec::new();
                    for _ in 0..25 {
                        let mut output =
                            Tensor4Mut::dense(&mut out, [1, oc, oh, ow], layout).expect("sized above");
                        let start = Instant::now();
                        conv.run(pool, &mut scratch, &input, &mut output, Activation::None).expect("valid");
                        times.push(start.elapsed().as_secs_f64());
                        black_box(&out);
                    }
                    times.sort_by(f64::total_cmp);
                    let time = times[12];
                    *total += time * count as f64;
                    print!(" {layout:?} {:>7.1} µs {:>4.0}", time * 1e6, flops / time / 1e9);
                }
                println!();
            }
            println!("  total: {:.2} ms first, {:.2} ms last", totals[0] * 1e3, totals[1] * 1e3);
        }
    });
}
