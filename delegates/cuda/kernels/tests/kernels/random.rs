//! Random numbers.

use super::common::*;
use executorch_cuda_driver::{Argument, Launch, Module};
use executorch_cuda_kernels::{Error, rand_bf16, rand_f32, randint};
use std::collections::HashSet;

const COUNT: u64 = 10_000;

/// The published test vector of Philox4x32-10 for key and counter 0.
#[test]
fn the_generator_is_the_published_one() {
    let words: [u32; 4] = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
    let (state, out, count) = (Array::zeros::<u64>(2), Array::zeros::<f32>(4), 4_u64);
    let module = unsafe { Module::load(gpu().cuda(), b"\0") }.unwrap();
    let kernel = module.kernel(c"random_uniform_f32").unwrap();
    let (base, to) = (state.at(), out.at());
    let arguments = [Argument::new(&base), Argument::new(&to), Argument::new(&count)];
    unsafe { kernel.launch(gpu(), Launch::linear(1, 1), &arguments) }.unwrap();
    let expected = words.map(|word| (word & 0x00ff_ffff) as f32 / 16_777_216.0);
    assert_eq!(out.read::<f32>(), expected);
    let (low, range) = (-5_i64, 1_u64 << 40);
    let wide = Array::zeros::<i64>(2);
    let to = wide.at();
    let count = 2_u64;
    let arguments = [
        Argument::new(&base),
        Argument::new(&to),
        Argument::new(&count),
        Argument::new(&low),
        Argument::new(&range),
    ];
    let kernel = module.kernel(c"random_integers").unwrap();
    unsafe { kernel.launch(gpu(), Launch::linear(1, 1), &arguments) }.unwrap();
    let expected = [[words[0], words[1]], [words[2], words[3]]]
        .map(|[high, low]| (u64::from(high) << 32 | u64::from(low)) % (1 << 40))
        .map(|number| number as i64 - 5);
    assert_eq!(wide.read::<i64>(), expected);
}

#[test]
fn floats_fill_the_unit_interval_and_never_come_again() {
    let [first, second] = [Array::zeros::<f32>(COUNT as usize), Array::zeros::<f32>(COUNT as usize)];
    for out in [&first, &second] {
        unsafe { rand_f32(gpu(), DEVICE, out.at_mut(), COUNT) }.unwrap();
    }
    let (first, second) = (first.read::<f32>(), second.read::<f32>());
    let mean = first.iter().map(|&value| f64::from(value)).sum::<f64>() / COUNT as f64;
    // Six standard deviations.
    assert!((mean - 0.5).abs() < 6.0 / (12.0 * COUNT as f64).sqrt(), "{mean}");
    assert!(first.iter().all(|value| (0.0..1.0).contains(value)));
    let seen: HashSet<u32> = first.iter().map(|value| value.to_bits()).collect();
    let again = second.iter().filter(|value| seen.contains(&value.to_bits())).count();
    // Of 2^24 values, by chance about six.
    assert!(again < 60, "{again}");
}

#[test]
fn short_floats_stay_below_one() {
    let out = Array::zeros::<u16>(COUNT as usize + 1);
    unsafe { rand_bf16(gpu(), DEVICE, out.at_mut(), COUNT) }.unwrap();
    let values = out.read::<u16>();
    let (last, values) = values.split_last().unwrap();
    assert_eq!(*last, 0, "nothing is written behind the end");
    assert!(values.iter().all(|&bits| (0.0..1.0).contains(&bf16(bits))));
    let mean = values.iter().map(|&bits| bf16(bits)).sum::<f64>() / COUNT as f64;
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
}

#[test]
fn integers_stay_in_their_range() {
    let out = Array::zeros::<i64>(COUNT as usize);
    unsafe { randint(gpu(), DEVICE, out.at_mut(), COUNT, -3, 4) }.unwrap();
    let mut counts = [0; 7];
    out.read::<i64>().iter().for_each(|&value| counts[usize::try_from(value + 3).unwrap()] += 1);
    let expected = COUNT as f64 / 7.0;
    assert!(
        counts.iter().all(|&count| (f64::from(count) - expected).abs() < 6.0 * expected.sqrt()),
        "{counts:?}"
    );
    unsafe { randint(gpu(), DEVICE, out.at_mut(), COUNT, i64::MIN, i64::MAX) }.unwrap();
    let negative = out.read::<i64>().iter().filter(|&&value| value < 0).count();
    assert!((negative as f64 - COUNT as f64 / 2.0).abs() < 3.0 * (COUNT as f64).sqrt());
    for (low, high) in [(3, 3), (4, 3), (i64::MAX, i64::MIN)] {
        let error = unsafe { randint(gpu(), DEVICE, out.at_mut(), 1, low, high) }.unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
    unsafe { randint(gpu(), DEVICE, std::ptr::null_mut(), 0, 0, 1) }.unwrap();
}
