//! Times the convolutions of image networks and prints the best microseconds and GFLOP/s of each layer.
//!
//! Arguments: threads (2), model (`all`), layout (`last` or `first`).

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
    // Squeeze and excitation, and the classifier.
    (16, 8, 1, 1, 1, 1, 1),
    (8, 16, 1, 1, 1, 1, 1),
    (96, 24, 1, 1, 1, 1, 1),
    (24, 96, 1, 1, 1, 1, 1),
    (240, 64, 1, 1, 1, 1, 2),
    (64, 240, 1, 1, 1, 1, 2),
    (144, 40, 1, 1, 1, 1, 1),
    (40, 144, 1, 1, 1, 1, 1),
    (576, 144, 1, 1, 1, 1, 2),
    (144, 576, 1, 1, 1, 1, 2),
    (576, 1024, 1, 1, 1, 1, 1),
    (1024, 1000, 1, 1, 1, 1, 1),
];
const MOBILENET_V2: &[Layer] = &[
    (3, 32, 1, 3, 2, 224, 1),
    (32, 32, 32, 3, 1, 112, 1),
    (32, 16, 1, 1, 1, 112, 1),
    (16, 96, 1, 1, 1, 112, 1),
    (96, 96, 96, 3, 2, 112, 1),
    (96, 24, 1, 1, 1, 56, 1),
    (24, 144, 1, 1, 1, 56, 2),
    (144, 144, 144, 3, 1, 56, 1),
    (144, 24, 1, 1, 1, 56, 1),
    (144, 144, 144, 3, 2, 56, 1),
    (144, 32, 1, 1, 1, 28, 1),
    (32, 192, 1, 1, 1, 28, 3),
    (192, 192, 192, 3, 1, 28, 2),
    (192, 32, 1, 1, 1, 28, 2),
    (192, 192, 192, 3, 2, 28, 1),
    (192, 64, 1, 1, 1, 14, 1),
    (64, 384, 1, 1, 1, 14, 4),
    (384, 384, 384, 3, 1, 14, 4),
    (384, 64, 1, 1, 1, 14, 3),
    (384, 96, 1, 1, 1, 14, 1),
    (96, 576, 1, 1, 1, 14, 3),
    (576, 576, 576, 3, 1, 14, 2),
    (576, 96, 1, 1, 1, 14, 2),
    (576, 576, 576, 3, 2, 14, 1),
    (576, 160, 1, 1, 1, 7, 1),
    (160, 960, 1, 1, 1, 7, 3),
    (960, 960, 960, 3, 1, 7, 3),
    (960, 160, 1, 1, 1, 7, 2),
    (960, 320, 1, 1, 1, 7, 1),
    (320, 1280, 1, 1, 1, 7, 1),
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

/// What follows the first line of the cache, where a runtime's tensors start.
fn lines(place: &mut [f32]) -> &mut [f32] {
    let start = place.as_ptr().align_offset(64);
    &mut place[start..]
}

/// One layer, ready to run, and its best time.
struct Site {
    layer: Layer,
    conv: PackedConv,
    scratch: Vec<f32>,
    flops: f64,
    best: f64,
}

impl Site {
    fn new(layer: Layer, layout: Layout, pool: &dyn Pool) -> Self {
        let (ic, oc, groups, kernel, stride, size, _) = layer;
        let mut p = ConvParams::new(ic, oc, [kernel; 2]);
        p.groups = groups;
        p.stride = [stride; 2];
        p.padding = [[kernel / 2; 2]; 2];
        let [oh, ow] = p.out_size([size; 2]).expect("the layer fits");
        let k = ic / groups * kernel * kernel;
        let weight: Vec<f32> = (0..oc * k).map(|i| (i % 7) as f32 - 3.0).collect();
        let strides = [k, kernel * kernel, kernel, 1];
        let conv = PackedConv::new(p, layout, &weight, strides, None).expect("valid");
        let scratch = vec![0.0; conv.scratch_len([1, ic, size, size], pool).expect("valid")];
        Self { layer, conv, scratch, flops: 2.0 * (oc * oh * ow * k) as f64, best: f64::INFINITY }
    }

    /// Runs the layer on what `from` holds. It has just been written, as by the layer before.
    fn run(&mut self, layout: Layout, pool: &dyn Pool, from: &mut [f32], to: &mut [f32]) {
        let (ic, oc, _, _, _, size, _) = self.layer;
        let len = ic * size * size;
        let place = std::sync::Mutex::new(from[..len].chunks_mut(len.div_ceil(pool.threads())));
        pool.run(pool.threads(), &|_| {
            let mine = place.lock().ok().and_then(|mut place| place.next());
            mine.into_iter().flatten().enumerate().for_each(|(i, value)| *value = (i % 8) as f32 - 4.0);
        });
        let input = Tensor4::dense(from, [1, ic, size, size], layout).expect("sized");
        let [oh, ow] = self.conv.params().out_size([size; 2]).expect("the layer fits");
        let mut output = Tensor4Mut::dense(to, [1, oc, oh, ow], layout).expect("sized");
        let start = Instant::now();
        self.conv.run(pool, &mut self.scratch, &input, &mut output, Activation::Relu).expect("valid");
        self.best = self.best.min(start.elapsed().as_secs_f64());
        black_box(to);
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let threads = args.next().and_then(|s| s.parse().ok()).unwrap_or(2);
    let only = args.next();
    let layout = match args.next().as_deref() {
        Some("first") => Layout::ChannelsFirst,
        _ => Layout::ChannelsLast,
    };
    let models = [
        ("mobilenet_v3_small", MOBILENET_V3_SMALL),
        ("mobilenet_v2", MOBILENET_V2),
        ("squeezenet1_1", SQUEEZENET1_1),
        ("resnet18", RESNET18),
    ];
    with_pool(threads, |pool| {
        for (name, layers) in models {
            if only.as_deref().is_some_and(|only| only != "all" && only != name) {
                continue;
            }
            let mut sites: Vec<Site> = layers.iter().map(|&layer| Site::new(layer, layout, pool)).collect();
            // Two places for all inputs and outputs, as planned memory has them.
            let mut places = [vec![0.0f32; 1 << 21], vec![0.0f32; 1 << 21]];
            let [from, to] = &mut places;
            let (from, to) = (lines(from), lines(to));
            let start = Instant::now();
            while start.elapsed().as_secs_f64() < 2.0 {
                // All layers in turn, so that each finds its weights in the caches as in a model.
                sites.iter_mut().for_each(|site| site.run(layout, pool, from, to));
            }
            println!("{name}, {threads} threads, {layout:?}");
            let mut total = 0.0;
            for site in &sites {
                let (ic, oc, groups, kernel, stride, size, count) = site.layer;
                let text = format!("{ic}→{oc} /{groups} {kernel}×{kernel} s{stride} {size}² ×{count}");
                println!("  {text:<36} {:>7.1} µs {:>4.0}", site.best * 1e6, site.flops / site.best / 1e9);
                total += site.best * count as f64;
            }
            println!("  total: {:.3} ms", total * 1e3);
        }
    });
}
