//! The product with PyTorch's packed 4-bit weights.

use super::common::*;
use executorch_cuda_kernels::{Error, Int4Pack, int4pack_mm};

#[test]
fn pytorchs_product_on_a_cpu() {
    gpu();
    for inner in [2, 4, 8] {
        let case = Case::read(&format!("int4pack_{inner}"));
        let (m, n) = (case.number("m"), case.number("n"));
        let weights = Array::new(&case.array("weights", |number| number as u32));
        let [activations, scales] = ["a", "scales"].map(|key| case.u16(key));
        let out = Array::zeros::<u16>((m * n) as usize);
        let call = Int4Pack {
            activations: activations.at(),
            weights: weights.at(),
            scales: scales.at(),
            out: out.at_mut(),
            m,
            n,
            k: case.number("k"),
            group: case.number("group"),
            inner,
        };
        unsafe { int4pack_mm(gpu(), DEVICE, &call) }.unwrap();
        let expected = case.array("expected", |bits| bits as u16);
        let size = expected.iter().map(|&bits| bf16(bits).abs()).fold(0.0, f64::max);
        for (found, expected) in out.read::<u16>().into_iter().zip(expected) {
            let (found, expected) = (bf16(found), bf16(expected));
            assert!(
                (found - expected).abs() <= expected.abs() / 64.0 + size / 256.0,
                "{inner}: {found}, {expected}"
            );
        }
    }
}

/// In f64 from the description of the format, with weights rounded to bfloat16, for more rows than a tile has.
#[test]
fn any_sizes_agree_with_the_format() {
    gpu();
    let mut random = fastrand::Rng::with_seed(4);
    for (m, n, k, group, inner) in
        [(65, 8, 64, 32, 2), (16, 24, 512, 256, 8), (33, 16, 384, 64, 4), (1, 8, 32, 32, 2)]
    {
        let mut float = |scale: f32| half::bf16::from_f32((random.f32() - 0.5) * scale).to_bits();
        let a: Vec<u16> = (0..m * k).map(|_| float(4.0)).collect();
        let scales: Vec<u16> = (0..k / group * n * 2).map(|_| float(1.0)).collect();
        let weights: Vec<u32> = (0..n * k / 8).map(|_| random.u32(..)).collect();
        // Where the description puts the weight of a column and a depth.
        let nibble = |column: usize, depth: usize| {
            let (tile, in_tile) = (depth / 16, depth % 16);
            let lane = column % 8 * 4 + in_tile % 8 / 2;
            let at =
                ((column / 8 * (k / 16 / inner) + tile / inner) * 32 + lane) * (inner / 2) + tile % inner / 2;
            let place = tile % 2 * 2 + in_tile / 8 + in_tile % 2 * 4;
            weights[at] >> (4 * place) & 15
        };
        let weight = |column: usize, depth: usize| {
            let [scale, zero] = [0, 1].map(|i| bf16(scales[(depth / group * n + column) * 2 + i]));
            half::bf16::from_f64((f64::from(nibble(column, depth)) - 8.0) * scale + zero).to_f64()
        };
        let expected: Vec<(f64, f64)> = (0..m * n)
            .map(|at| {
                let terms = (0..k).map(|i| bf16(a[at / n * k + i]) * weight(at % n, i));
                terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()))
            })
            .collect();
        let (a, scales, weights) = (Array::new(&a), Array::new(&scales), Array::new(&weights));
        let out = Array::zeros::<u16>(m * n);
        let sizes = [m, n, k, group, inner].map(|size| size as u64);
        let call = Int4Pack {
            activations: a.at(),
            weights: weights.at(),
            scales: scales.at(),
            out: out.at_mut(),
            m: sizes[0],
            n: sizes[1],
            k: sizes[2],
            group: sizes[3],
            inner: sizes[4],
        };
        unsafe { int4pack_mm(gpu(), DEVICE, &call) }.unwrap();
        for (found, (expected, size)) in out.read::<u16>().into_iter().zip(expected) {
            let tolerance = expected.abs() / 256.0 + size * 1e-6;
            assert!(
                (bf16(found) - expected).abs() <= tolerance,
                "{m} {n} {k}: {}, expected {expected}",
                bf16(found)
            );
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    gpu();
    let zeros = Array::zeros::<u8>(4096);
    let base = Int4Pack {
        activations: zeros.at(),
        weights: zeros.at(),
        scales: zeros.at(),
        out: zeros.at_mut(),
        m: 0,
        n: 8,
        k: 128,
        group: 32,
        inner: 8,
    };
    unsafe { int4pack_mm(gpu(), DEVICE, &base) }.unwrap();
    for call in [
        Int4Pack { inner: 3, ..base },
        Int4Pack { group: 16, ..base },
        Int4Pack { n: 12, ..base },
        Int4Pack { k: 64, ..base },
        Int4Pack { k: 384, group: 256, ..base },
        Int4Pack { m: 1 << 31, ..base },
        Int4Pack { weights: zeros.at().wrapping_byte_add(8), ..base },
    ] {
        let error = unsafe { int4pack_mm(gpu(), DEVICE, &call) }.unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
}
