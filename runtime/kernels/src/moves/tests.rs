//! Copies against a loop over indices.

use super::*;
use crate::strided::Dim;

/// Copies element by element.
fn naive(from: &[u8], source: &View, to: &mut [u8], target: &View, size: usize) {
    let dims: Vec<(Dim, Dim)> = source.dims().iter().copied().zip(target.dims().iter().copied()).collect();
    for flat in 0..source.count() {
        let (mut rest, mut f, mut t) = (flat, source.start(), target.start());
        for (s, d) in dims.iter().rev() {
            let index = (rest % s.size) as isize;
            rest /= s.size;
            f += index * s.step;
            t += index * d.step;
        }
        let (f, t) = (f as usize * size, t as usize * size);
        to[t..t + size].copy_from_slice(&from[f..f + size]);
    }
}

fn check(source: &View, from: usize, target: &View, to: usize) {
    for size in [1, 2, 4, 8, 16] {
        let from: Vec<u8> = (0..from * size).map(|i| (i * 131 + (i >> 8) * 17) as u8).collect();
        let (mut found, mut expected) = (vec![7; to * size], vec![7; to * size]);
        copy(&from, source, &mut found, target, size).unwrap();
        naive(&from, source, &mut expected, target, size);
        assert!(found == expected, "{:?} to {:?}, {size} bytes", source.dims(), target.dims());
    }
}

fn orders(rank: usize) -> Vec<Vec<usize>> {
    if rank == 0 {
        return vec![vec![]];
    }
    let insert = |order: Vec<usize>| {
        (0..rank).map(move |at| {
            let mut order = order.clone();
            order.insert(at, rank - 1);
            order
        })
    };
    orders(rank - 1).into_iter().flat_map(insert).collect()
}

#[test]
fn permutations() {
    for sizes in [vec![2, 3, 4, 5], vec![1, 17, 1, 33], vec![3, 2, 2, 2], vec![40, 1, 70, 2], vec![5], vec![]]
    {
        let count = sizes.iter().product::<i32>() as usize;
        for order in orders(sizes.len()) {
            let permuted: Vec<i32> = order.iter().map(|&d| sizes[d]).collect();
            let source = View::contiguous(&sizes).permute(&order).unwrap();
            check(&source, count, &View::contiguous(&permuted), count);
        }
    }
}

#[test]
fn large_copies_in_parts() {
    for order in orders(3) {
        let sizes = [130, 67, 41];
        let count = sizes.iter().product::<i32>() as usize;
        let permuted: Vec<i32> = order.iter().map(|&d| sizes[d]).collect();
        let source = View::contiguous(&sizes).permute(&order).unwrap();
        check(&source, count, &View::contiguous(&permuted), count);
    }
    check(&View::contiguous(&[300_007]), 300_007, &View::contiguous(&[300_007]), 300_007);
    // Few, long rows in a target with gaps.
    let target = View::contiguous(&[3, 200_000]).narrow(1, 5, 150_001).unwrap();
    check(&View::contiguous(&[3, 150_001]), 450_003, &target, 600_000);
}

#[test]
fn views_with_gaps_repeats_and_reverses() {
    let whole = View::contiguous(&[6, 8, 10]);
    let backwards = whole.pick(0, 5, 6, -1).unwrap().pick(2, 9, 5, -2).unwrap();
    check(&backwards, 480, &View::contiguous(&[6, 8, 5]), 240);
    let repeated = View::contiguous(&[4, 1, 3]).pick(1, 0, 7, 0).unwrap();
    check(&repeated, 12, &View::contiguous(&[4, 7, 3]), 84);
    let innermost = View::contiguous(&[4, 1]).pick(1, 0, 9, 0).unwrap();
    check(&innermost, 4, &View::contiguous(&[4, 9]), 36);
    let gaps = whole.narrow(1, 2, 3).unwrap().pick(2, 1, 4, 2).unwrap();
    check(&View::contiguous(&[6, 3, 4]), 72, &gaps, 480);
    check(&View::contiguous(&[3, 6, 4]).permute(&[1, 0, 2]).unwrap(), 72, &gaps, 480);
    // A run of two elements becomes one of twice the size, at odd places.
    let pairs = View::contiguous(&[7, 9, 5]).narrow(2, 1, 2).unwrap().permute(&[1, 0, 2]).unwrap();
    check(&pairs, 315, &View::contiguous(&[9, 7, 2]), 126);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (from, mut to) = ([0; 12], [0; 12]);
    let fits = View::contiguous(&[3, 4]);
    assert!(copy(&from[..11], &fits, &mut to, &fits, 1).is_err());
    assert!(copy(&from, &fits, &mut to[..11], &fits, 1).is_err());
    assert!(copy(&from, &fits.moved(-1), &mut to, &fits, 1).is_err());
    assert!(copy(&from, &fits.moved(1), &mut to, &fits, 1).is_err());
    assert!(copy(&from, &View::contiguous(&[4, 3]), &mut to, &fits, 1).is_err());
    let twice = View::contiguous(&[1, 4]).pick(0, 0, 3, 0).unwrap();
    assert!(copy(&from, &fits, &mut to, &twice, 1).is_err());
    let overlapping = View::point().insert(0, Dim { size: 3, step: 2 }).unwrap();
    let overlapping = overlapping.insert(1, Dim { size: 4, step: 1 }).unwrap();
    assert!(copy(&from, &fits, &mut to, &overlapping, 1).is_err());
    assert!(fits.narrow(1, 2, 3).is_err());
    assert!(fits.pick(1, 3, 3, -2).is_err());
}
