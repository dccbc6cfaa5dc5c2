//! Times products of model-like shapes on two threads (or as many as the first argument says) and
//! prints GFLOP/s: the best and the median of interleaved rounds.

use executorch_gemm::{Lhs, Matrix, MatrixMut, PackedA, PackedB, Pool, Product, Rhs};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

include!("support/spin_pool.rs");

fn main() {
    let threads = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2);
    let shapes = [
        [64, 1024, 1024],
        [1, 128, 128],
        [1, 1024, 256],
        [4, 1024, 256],
        [1, 1024, 1024],
        [3136, 64, 576],
        [196, 512, 1024],
        [49, 512, 4608],
        [1024, 1024, 1024],
        [197, 768, 192],
        [197, 197, 64],
        [64, 64, 64],
    ];
    with_pool(threads, |pool| {
        println!("{:>16} {:>22} {:>22} {:>22}", "M×N×K", "B packed", "A packed", "none packed");
        for [m, n, k] in shapes {
            let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
            let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
            let a = Matrix::row_major(&a, m, k).expect("sized above");
            let b = Matrix::row_major(&b, k, n).expect("sized above");
            let packed_a = PackedA::new(&a).expect("fits");
            let packed_b = PackedB::new(&b).expect("fits");
            let products = [
                Product::new(Lhs::View(a), Rhs::Packed(&packed_b)),
                Product::new(Lhs::Packed(&packed_a), Rhs::View(b)),
                Product::new(Lhs::View(a), Rhs::View(b)),
            ];
            let mut out = vec![0.0f32; m * n];
            let flops = 2.0 * (m * n * k) as f64;
            let calls = (2e8 / flops).ceil() as usize;
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..25 {
                for (product, times) in products.iter().zip(&mut times) {
                    let mut scratch = vec![0.0; product.scratch_len(pool).expect("fits")];
                    let start = Instant::now();
                    for _ in 0..calls {
                        let view = MatrixMut::row_major(&mut out, m, n).expect("sized above");
                        product.run(pool, &mut scratch, view).expect("shapes fit");
                    }
                    times.push(start.elapsed().as_secs_f64() / calls as f64);
                    black_box(&out);
                }
            }
            print!("{:>16}", format!("{m}×{n}×{k}"));
            for times in &mut times {
                times.sort_by(f64::total_cmp);
                print!("     best {:>5.0} med {:>4.0}", flops / times[0] / 1e9, flops / times[12] / 1e9);
            }
            println!();
        }
    });
}
