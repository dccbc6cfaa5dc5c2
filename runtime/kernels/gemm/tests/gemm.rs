//! Products against a naive f64 reference, over seeded random shapes, strides and options.

#![allow(clippy::unwrap_used)] // A test may panic.

mod common;

use common::{Rng, Threads, isas};
use executorch_gemm::{
    Activation, Addend, Isa, Lhs, Matrix, MatrixMut, PackedA, PackedB, Pool, Product, Rhs, Serial,
};

/// A matrix in a layout of its own: row-major, column-major, or spread out.
struct Operand {
    data: Vec<f32>,
    shape: [usize; 2],
    strides: [usize; 2],
}

impl Operand {
    fn new(rng: &mut Rng, rows: usize, cols: usize) -> Self {
        let strides = match rng.below(4) {
            0 => [cols, 1],
            1 => [1, rows],
            2 => [cols + 5, 1],
            _ => [2 * cols + 3, 2],
        };
        let len = if rows * cols == 0 { 0 } else { (rows - 1) * strides[0] + (cols - 1) * strides[1] + 1 };
        Self { data: rng.floats(len), shape: [rows, cols], strides }
    }

    fn view(&self) -> Matrix<'_, f32> {
        Matrix::new(&self.data, self.shape, self.strides).unwrap()
    }
}

fn check(rng: &mut Rng, isa: Isa, pool: &dyn Pool, [m, n, k]: [usize; 3]) {
    let (a, b) = (Operand::new(rng, m, k), Operand::new(rng, k, n));
    let (d, r) = (Operand::new(rng, m, n), Operand::new(rng, m, n));
    let (row, col) = (rng.floats(n), rng.floats(m));
    let packed_a = PackedA::with_isa(&a.view(), isa).unwrap();
    let packed_b = PackedB::pack(&b.view(), isa, pool).unwrap();
    let lhs = if rng.below(2) == 0 { Lhs::View(a.view()) } else { Lhs::Packed(&packed_a) };
    let rhs = if rng.below(2) == 0 { Rhs::View(b.view()) } else { Rhs::Packed(&packed_b) };
    let mut product = Product::new(lhs, rhs);
    product.isa = isa;
    product.addend = match rng.below(4) {
        0 => Addend::None,
        1 => Addend::Row(&row),
        2 => Addend::Col(&col),
        _ => Addend::Full(d.view()),
    };
    if rng.below(3) == 0 {
        product.alpha = [0.0, -1.5][rng.below(2)];
    }
    if rng.below(3) == 0 {
        product.beta = [0.0, 0.5][rng.below(2)];
    }
    product.activation = match rng.below(4) {
        0 => Activation::None,
        1 => Activation::Relu,
        2 => Activation::HardSwish,
        _ => Activation::Clamp(-0.25, 0.75),
    };
    product.residual = (rng.below(3) == 0).then(|| r.view());

    let gap = rng.below(3);
    let mut out = vec![7.0f32; (n + gap) * m];
    let mut scratch = vec![f32::NAN; product.scratch_len(pool).unwrap()];
    product.run(pool, &mut scratch, MatrixMut::new(&mut out, [m, n], n + gap).unwrap()).unwrap();

    for i in 0..m {
        for j in 0..n + gap {
            let got = out[i * (n + gap) + j];
            if j >= n {
                assert_eq!(got, 7.0, "the gap between rows was written");
                continue;
            }
            let sum: f64 =
                (0..k).map(|l| f64::from(a.view().get(i, l)) * f64::from(b.view().get(l, j))).sum();
            let add = match product.addend {
                Addend::None => 0.0,
                Addend::Row(d) => d[j],
                Addend::Col(d) => d[i],
                Addend::Full(d) => d.get(i, j),
            };
            let value = f64::from(product.alpha) * sum + f64::from(product.beta) * f64::from(add);
            let value = value + product.residual.map_or(0.0, |r| f64::from(r.get(i, j)));
            let want = match product.activation {
                Activation::None => value,
                Activation::Relu => value.max(0.0),
                Activation::Clamp(low, high) => value.clamp(low.into(), high.into()),
                Activation::HardSwish => value * (value + 3.0).clamp(0.0, 6.0) / 6.0,
            };
            let limit = 1e-5 * (k as f64).sqrt().max(1.0);
            assert!(
                (f64::from(got) - want).abs() < limit,
                "{isa:?} {m}x{n}x{k} at ({i}, {j}): {got}, expected {want}; {product:?}"
            );
        }
    }
}

#[test]
fn random_products_match_the_reference() {
    for isa in isas() {
        let mut rng = Rng(42);
        for round in 0..400 {
            let dim = |rng: &mut Rng| match rng.below(6) {
                0 => rng.below(4),
                1 => 1,
                2 => 32 * (1 + rng.below(3)),
                _ => 1 + rng.below(70),
            };
            let shape = [dim(&mut rng), dim(&mut rng), dim(&mut rng)];
            let pool: &dyn Pool = if round % 2 == 0 { &Serial } else { &Threads(3) };
            check(&mut rng, isa, pool, shape);
        }
    }
}

#[test]
fn large_products_match_the_reference() {
    for isa in isas() {
        let mut rng = Rng(7);
        for shape in [
            [64, 300, 1030],
            [197, 65, 192],
            [1, 1000, 1100],
            [700, 33, 40],
            [3, 515, 600],
            [500, 1, 700],
            [30, 600, 64],
        ] {
            for threads in [1, 2, 5] {
                for _ in 0..3 {
                    check(&mut rng, isa, &Threads(threads), shape);
                }
            }
        }
    }
}

#[test]
fn f64_products_match_the_reference() {
    for isa in isas() {
        let mut rng = Rng(3);
        for _ in 0..100 {
            let [m, n, k] = [1 + rng.below(40), 1 + rng.below(40), 1 + rng.below(600)];
            let a: Vec<f64> = rng.floats(m * k).into_iter().map(f64::from).collect();
            let b: Vec<f64> = rng.floats(k * n).into_iter().map(f64::from).collect();
            let transposed = rng.below(2) == 0;
            let a_view = if transposed {
                Matrix::row_major(&a, k, m).unwrap().transposed()
            } else {
                Matrix::row_major(&a, m, k).unwrap()
            };
            let b_view = if transposed {
                Matrix::row_major(&b, n, k).unwrap().transposed()
            } else {
                Matrix::row_major(&b, k, n).unwrap()
            };
            let mut product = Product::new(Lhs::View(a_view), Rhs::View(b_view));
            product.isa = isa;
            let mut scratch = vec![f64::NAN; product.scratch_len(&Threads(2)).unwrap()];
            let mut out = vec![0.0; m * n];
            let view = MatrixMut::row_major(&mut out, m, n).unwrap();
            product.run(&Threads(2), &mut scratch, view).unwrap();
            for i in 0..m {
                for j in 0..n {
                    let want: f64 = (0..k).map(|l| a_view.get(i, l) * b_view.get(l, j)).sum();
                    assert!((out[i * n + j] - want).abs() < 1e-12 * k as f64);
                }
            }
        }
    }
}

#[test]
fn nan_survives_relu() {
    for isa in isas() {
        let a = [f32::NAN; 40];
        let b = [1.0f32; 40];
        let mut product = Product::new(
            Lhs::View(Matrix::row_major(&a, 40, 1).unwrap()),
            Rhs::View(Matrix::row_major(&b, 1, 40).unwrap()),
        );
        product.activation = Activation::Relu;
        product.isa = isa;
        let mut scratch = vec![0.0; product.scratch_len(&Serial).unwrap()];
        let mut out = vec![0.0; 1600];
        let view = MatrixMut::row_major(&mut out, 40, 40).unwrap();
        product.run(&Serial, &mut scratch, view).unwrap();
        assert!(out.iter().all(|v| v.is_nan()));
    }
}

#[test]
fn bad_sizes_are_refused() {
    let data = vec![0.0f32; 12];
    assert!(Matrix::row_major(&data, 3, 5).is_err());
    assert!(Matrix::new(&data, [usize::MAX, 2], [usize::MAX, 1]).is_err());
    let mut out = vec![0.0f32; 12];
    assert!(MatrixMut::new(&mut out, [3, 4], 3).is_err());
    let a = Matrix::row_major(&data, 3, 4).unwrap();
    let product = Product::new(Lhs::View(a), Rhs::View(a));
    assert!(product.scratch_len(&Serial).is_err());
    let product = Product::new(Lhs::View(a), Rhs::View(a.transposed()));
    assert!(product.run(&Serial, &mut [], MatrixMut::row_major(&mut out, 3, 4).unwrap()).is_err());
    // Few rows are streamed, more need scratch.
    product.run(&Serial, &mut [], MatrixMut::row_major(&mut out, 3, 3).unwrap()).unwrap();
    let a = Matrix::row_major(&data, 6, 2).unwrap();
    let product = Product::new(Lhs::View(a), Rhs::View(a.transposed()));
    let mut out = vec![0.0f32; 36];
    assert!(product.run(&Serial, &mut [], MatrixMut::row_major(&mut out, 6, 6).unwrap()).is_err());
}
