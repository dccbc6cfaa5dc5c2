//! Products with 4- to 8-bit weights.

use super::common::*;
use executorch_cuda_kernels::{Error, Plain, Weights, plain_mm};
use half::bf16 as BF16;

/// Runs a fixture, and compares with the product of the unquantised activations: no further away than quantising them can make it.
fn check(name: &str, case: &Case, weights: Weights) {
    let (m, n) = (case.number("m"), case.number("n"));
    let (activations, out) = (case.u16("a"), Array::zeros::<u16>((m * n) as usize));
    let call = Plain {
        activations: activations.at(),
        weights,
        out: out.at_mut(),
        m,
        n,
        k: case.number("k"),
        group: case.number("group"),
    };
    unsafe { plain_mm(gpu(), DEVICE, &call) }.unwrap();
    let expected = case.floats("expected");
    for ((found, expected), bound) in out.read::<u16>().into_iter().zip(expected).zip(case.floats("bound")) {
        let (found, expected) = (bf16(found), f64::from(expected));
        let difference = (found - expected).abs();
        assert!(
            difference <= f64::from(bound) + expected.abs() / 128.0,
            "{name}: {found}, expected {expected}"
        );
        // As a rule it is much closer, because errors go both ways.
        assert!(
            difference <= f64::from(bound) / 4.0 + expected.abs() / 128.0,
            "{name}: {found}, expected {expected}"
        );
    }
}

#[test]
fn upstreams_packed_weights_give_pytorchs_products() {
    gpu();
    let case = Case::read("int4");
    let [data, scale, zero] = ["data", "scale", "zero"].map(|key| case.u8(key));
    let [scale_step, zero_step] = ["scale_step", "zero_step"].map(|key| case.u16(key));
    let weights = Weights::Int4 {
        data: data.at(),
        scale: scale.at(),
        scale_step: scale_step.at(),
        zero: zero.at(),
        zero_step: zero_step.at(),
    };
    check("int4", &case, weights);

    let case = Case::read("int5");
    let [low, high, scale, zero] = ["low", "high", "scale", "zero"].map(|key| case.u8(key));
    let [scale_step, zero_step] = ["scale_step", "zero_step"].map(|key| case.u16(key));
    let weights = Weights::Int5 {
        low: low.at(),
        high: high.at(),
        scale: scale.at(),
        scale_step: scale_step.at(),
        zero: zero.at(),
        zero_step: zero_step.at(),
    };
    check("int5", &case, weights);

    let case = Case::read("int6");
    let [low, high, scale] = ["low", "high", "scale"].map(|key| case.u8(key));
    let scale_step = case.u16("scale_step");
    let weights =
        Weights::Int6 { low: low.at(), high: high.at(), scale: scale.at(), scale_step: scale_step.at() };
    check("int6", &case, weights);

    let case = Case::read("int8");
    let [data, zero] = ["data", "zero"].map(|key| case.u8(key));
    let scale = case.u16("scale");
    check("int8", &case, Weights::Int8 { data: data.at(), scale: scale.at(), zero: zero.at() });
}

/// Activations as the kernel sees them: 8-bit numbers with a scale for 32, multiplied out.
fn quantised(activations: &[u16]) -> Vec<f64> {
    let chunks = activations.chunks(32).map(|chunk| {
        let values: Vec<f32> = chunk.iter().map(|&bits| BF16::from_bits(bits).to_f32()).collect();
        let scale = values.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / 127.0;
        values
            .into_iter()
            .map(|value| {
                if scale > 0.0 {
                    f64::from((value / scale).round_ties_even()) * f64::from(scale)
                } else {
                    0.0
                }
            })
            .collect::<Vec<_>>()
    });
    chunks.flatten().collect()
}

/// Everything in f64 from the description of the format alone, for many sizes.
#[test]
fn any_sizes_agree_with_the_format() {
    gpu();
    let mut random = fastrand::Rng::with_seed(3);
    for (m, n, k, group) in [
        (1, 1, 256, 256),
        (2, 9, 1280, 32),
        (3, 4, 512, 16),
        (4, 13, 256, 8),
        (5, 6, 768, 128),
        (9, 3, 2304, 64),
        (1, 2, 512, 512),
    ] {
        let codes: Vec<u8> = (0..n * k / group).map(|_| random.u8(..)).collect();
        let steps: Vec<u16> =
            (0..n * k / 256).map(|_| half::f16::from_f32(random.f32() * 0.01).to_bits()).collect();
        let zeros: Vec<u8> = (0..n * k / group).map(|_| random.u8(..)).collect();
        let data: Vec<u8> = (0..n * k / 2).map(|_| random.u8(..)).collect();
        let a: Vec<u16> = (0..m * k).map(|_| BF16::from_f32(random.f32() * 4.0 - 2.0).to_bits()).collect();
        let weight = |at: usize| {
            let q = data[at / 2] >> (4 * (at % 2)) & 15;
            let step = f16(steps[at / 256]);
            (f64::from(q) - f64::from(zeros[at / group]) * step) * (f64::from(codes[at / group]) * step)
        };
        let x = quantised(&a);
        let [data, codes, zeros] = [&data, &codes, &zeros].map(|bytes| Array::new(bytes));
        let (steps, a, out) = (Array::new(&steps), Array::new(&a), Array::zeros::<u16>(m * n));
        let weights = Weights::Int4 {
            data: data.at(),
            scale: codes.at(),
            scale_step: steps.at(),
            zero: zeros.at(),
            zero_step: steps.at(),
        };
        let sizes = [m, n, k, group].map(|size| size as u64);
        let call = Plain {
            activations: a.at(),
            weights,
            out: out.at_mut(),
            m: sizes[0],
            n: sizes[1],
            k: sizes[2],
            group: sizes[3],
        };
        unsafe { plain_mm(gpu(), DEVICE, &call) }.unwrap();
        for (at, found) in out.read::<u16>().into_iter().enumerate() {
            let (row, column) = (at / n, at % n);
            let terms = (0..k).map(|i| x[row * k + i] * weight(column * k + i));
            let (expected, size) =
                terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()));
            let tolerance = expected.abs() / 256.0 + size * 1e-5;
            assert!(
                (bf16(found) - expected).abs() <= tolerance,
                "{m} {n} {k} {group}: {}, expected {expected}",
                bf16(found)
            );
        }
    }
}

#[test]
fn zeros_and_sizes_that_do_not_fit() {
    gpu();
    let zeros = Array::zeros::<u8>(4096);
    let out = Array::new(&[1_u16; 8]);
    let weights = Weights::Int8 { data: zeros.at(), scale: zeros.at(), zero: zeros.at() };
    let base = Plain { activations: zeros.at(), weights, out: out.at_mut(), m: 1, n: 8, k: 32, group: 32 };
    unsafe { plain_mm(gpu(), DEVICE, &base) }.unwrap();
    assert_eq!(out.read::<u16>(), [0; 8]);
    for call in [
        Plain { k: 33, ..base },
        Plain { k: 0, ..base },
        Plain { group: 24, ..base },
        Plain { group: 4, ..base },
        Plain { group: 64, ..base },
        Plain { n: 1 << 31, ..base },
        Plain { m: 1 << 40, ..base },
    ] {
        let error = unsafe { plain_mm(gpu(), DEVICE, &call) }.unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
    let odd = Weights::Int8 { data: zeros.at().wrapping_byte_add(8), scale: zeros.at(), zero: zeros.at() };
    let error = unsafe { plain_mm(gpu(), DEVICE, &Plain { weights: odd, ..base }) }.unwrap_err();
    assert!(error.to_string().contains("a multiple of 16 bytes"), "{error}");
    let four = Weights::Int4 {
        data: zeros.at(),
        scale: zeros.at(),
        scale_step: zeros.at(),
        zero: zeros.at(),
        zero_step: zeros.at(),
    };
    let error = unsafe { plain_mm(gpu(), DEVICE, &Plain { weights: four, k: 288, ..base }) }.unwrap_err();
    assert!(error.to_string().contains("288, expected a multiple of 256"), "{error}");
}
