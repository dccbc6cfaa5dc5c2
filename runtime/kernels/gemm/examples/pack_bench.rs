//! Times the packing of weights and prints GB/s of what is read: the best of several runs, into memory
//! that was touched before. Argument: threads (1).

use executorch_gemm::conv::{ConvPacking, ConvParams, ConvWeight, Layout};
use executorch_gemm::{Isa, Matrix, PACKED_ALIGNMENT, PackedB, Pool};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

include!("support/spin_pool.rs");

/// The best of several runs.
fn report(what: &str, len: usize, packed: usize, mut pack: impl FnMut(&mut [u8])) {
    let mut room = vec![1u8; packed + PACKED_ALIGNMENT];
    let start = room.as_ptr().align_offset(PACKED_ALIGNMENT);
    let to = &mut room[start..start + packed];
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        pack(to);
        best = best.min(start.elapsed().as_secs_f64());
        black_box(&to);
    }
    println!("{what:<36} {:>8.1} µs {:>6.2} GB/s", best * 1e6, (4 * len) as f64 / best / 1e9);
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let isa = Isa::active();
    with_pool(threads, |pool| {
        for [outs, ins] in [[128, 128], [1000, 1280], [1024, 1024], [4096, 1024], [1024, 4096]] {
            let data = vec![1.0f32; outs * ins];
            let view = Matrix::row_major(&data, outs, ins).expect("sized").transposed();
            let packed = PackedB::<f32>::packed_len([ins, outs], isa).expect("fits");
            report(&format!("linear [{outs}, {ins}]"), data.len(), packed, |to| {
                PackedB::pack_into(&view, isa, pool, to).expect("sized");
            });
        }
        for (ins, outs, kernel) in [(576, 96, 1), (64, 64, 3), (512, 512, 3)] {
            let params = ConvParams::new(ins, outs, [kernel; 2]);
            let packing = ConvPacking::new(params, Layout::ChannelsLast);
            let data = vec![1.0f32; outs * ins * kernel * kernel];
            let k = ins * kernel * kernel;
            let orders = [("OHWI", [k, 1, kernel * ins, ins]), ("OIHW", [k, kernel * kernel, kernel, 1])];
            for (order, strides) in orders {
                let weight = ConvWeight { data: &data, strides };
                let packed = packing.packed_len().expect("fits");
                let what = format!("{order} {ins}→{outs} {kernel}×{kernel}");
                report(&what, data.len(), packed, |to| {
                    packing.pack_into(weight, None, pool, to).expect("sized");
                });
            }
        }
    });
}
