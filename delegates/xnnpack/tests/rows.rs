//! A row of 8-bit numbers times many weights: both executors give what exact arithmetic gives.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

extern crate executorch_core as _;

use common::made::*;
use common::random::Random;
use common::run::run;
use executorch_backend_xnnpack::plan::choice::{Choice, Mode};
use executorch_backend_xnnpack::plan::{Executor, Plan};

const WIDTH: usize = 517;
const DIMS: [u32; 2] = [1, WIDTH as u32];
const FROM: (f32, i32) = (0.03, -7);
const TO: (f32, i32) = (0.9, 11);

/// What a layer is made of.
struct Layer {
    weights: Vec<i8>,
    scales: Vec<f32>,
    bias: Option<Vec<i32>>,
    clamp: Option<(f32, f32)>,
}

impl Layer {
    fn random(random: &mut Random, has_bias: bool, clamp: Option<(f32, f32)>) -> Self {
        let weights = (0..WIDTH * WIDTH).map(|_| (random.below(255) as i32 - 127) as i8).collect();
        let scales = (0..WIDTH).map(|_| 0.01 + random.below(100) as f32 * 1e-3).collect();
        let bias = has_bias.then(|| (0..WIDTH).map(|_| random.below(100_000) as i32 - 50_000).collect());
        Self { weights, scales, bias, clamp }
    }

    fn program(&self) -> Made {
        let mut made = Made { storage: Storage::Region, ..Made::new() };
        let x = made.input(fp32(), &DIMS);
        let taken = made.internal(qint8(FROM.0, FROM.1), &DIMS);
        made.node(node::unary(Kind::XNNConvert, x, taken));
        let bytes: Vec<u8> = self.weights.iter().map(|w| w.cast_unsigned()).collect();
        let filter = per_channel(Datatype::QCINT8, &self.scales, 0);
        let filter = made.constant_bytes(filter, &[WIDTH as u32; 2], &bytes);
        let bias = self.bias.as_ref().map(|bias| {
            let scales: Vec<f32> = self.scales.iter().map(|scale| scale * FROM.0).collect();
            let bytes: Vec<u8> = bias.iter().flat_map(|b| b.to_le_bytes()).collect();
            made.constant_bytes(per_channel(Datatype::QCINT32, &scales, 0), &[WIDTH as u32], &bytes)
        });
        let sums = made.internal(qint8(TO.0, TO.1), &DIMS);
        let layer = node::fully_connected(taken, filter, bias, sums);
        made.node(match self.clamp {
            Some((min, max)) => layer.clamped(min, max),
            None => layer,
        });
        let y = made.output(fp32(), &DIMS);
        made.node(node::unary(Kind::XNNConvert, sums, y));
        made
    }

    /// The exact result of an output, in steps.
    fn exact(&self, input: &[i32], output: usize) -> f64 {
        let row = self.weights.iter().skip(output * WIDTH).take(WIDTH);
        let products = row.zip(input).map(|(&w, &q)| i64::from(w) * i64::from(q - FROM.1));
        let sum = products.sum::<i64>() + self.bias.as_ref().map_or(0, |bias| i64::from(bias[output]));
        let real = sum as f64 * f64::from(FROM.0) * f64::from(self.scales[output]);
        let (min, max) = self.clamp.map_or((f64::MIN, f64::MAX), |(min, max)| (min.into(), max.into()));
        real.clamp(min, max) / f64::from(TO.0) + f64::from(TO.1)
    }
}

#[test]
fn both_executors_give_the_exact_result() {
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let mut random = Random::new(7);
    for (has_bias, clamp) in [(false, None), (true, None), (true, Some((-18.0, 45.0)))] {
        let layer = Layer::random(&mut random, has_bias, clamp);
        let made = layer.program();
        let plan = Plan::new(&made.read().unwrap(), &Choice { mode: Mode::Auto }, 2);
        let executors: Vec<_> = plan.segments.iter().map(|segment| segment.executor).collect();
        assert_eq!(executors, [Executor::Library, Executor::Own, Executor::Library]);

        let steps: Vec<i32> = (0..WIDTH).map(|_| random.below(256) as i32 - 128).collect();
        let mut input: Vec<f32> = steps.iter().map(|q| (q - FROM.1) as f32 * FROM.0).collect();
        let payload = made.bytes();
        let [ours, library] =
            ["auto", "library"].map(|executor| run(&payload, executor, 0, [1, WIDTH], &mut input));
        assert_eq!(ours, library);
        let mut within = 0;
        for (output, &found) in ours.iter().enumerate() {
            let expected = layer.exact(&steps, output).clamp(-128.0, 127.0);
            let found = f64::from(found) / f64::from(TO.0) + f64::from(TO.1);
            assert!((found - expected).abs() < 0.501, "output {output} is {found}, not {expected}");
            within += usize::from(expected > -128.0 && expected < 127.0);
        }
        assert!(within > WIDTH / 4, "most results are beyond the limits, which shows nothing: {within}");
    }
}
