//! Damaged payloads: whatever they say, reading ends in an error or in a graph that keeps its promises, in bounded memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::counting::{Counting, bytes, peak};
use common::made::*;
use common::mutation::{Subject, count, every_field, mutate, subjects};
use common::random::Random;
use common::*;
use executorch_backend_xnnpack::graph::Graph;
use executorch_backend_xnnpack::shape;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What reading may allocate: so many bytes for each byte of the payload, and so many more. (A node takes about 60 bytes of
/// the payload and 200 of memory.)
const BYTES_PER_BYTE: usize = 16;
const FLOOR: usize = 64 << 10;

/// Reads a payload, checks what comes of it; whether it is accepted.
fn exercise(payload: &[u8], named: &Named) -> bool {
    let payload = Arc::new(payload.to_vec());
    let size = payload.len();
    peak();
    let before = bytes();
    let result = read_shared(payload, named);
    let used = peak().saturating_sub(before);
    assert!(used <= BYTES_PER_BYTE * size + FLOOR, "a payload of {size} bytes took {used} bytes");
    let Ok(graph) = result else { return false };
    invariants::check(&graph);
    reshape(&graph);
    true
}

/// Other shapes of inputs end in an error or in shapes that nodes agree on.
fn reshape(graph: &Graph) {
    let declared: Vec<Vec<usize>> = graph.inputs.iter().map(|id| graph.value(*id).dims.to_vec()).collect();
    let given = |inputs: &[Vec<usize>]| {
        let inputs: Vec<&[usize]> = inputs.iter().map(Vec::as_slice).collect();
        shape::infer_all(graph, &inputs)
    };
    let all = given(&declared).unwrap();
    assert!(all.iter().zip(&graph.values).all(|(inferred, value)| *inferred == value.dims));
    for size in [0, 1, 5, 1 << 20, usize::MAX] {
        for dim in 0..6 {
            let mut inputs = declared.clone();
            for input in &mut inputs {
                if let Some(place) = input.get_mut(dim) {
                    *place = size;
                }
            }
            let Ok(all) = given(&inputs) else { continue };
            let mut changed = graph.clone();
            for (value, dims) in changed.values.iter_mut().zip(all) {
                value.dims = dims;
            }
            invariants::check(&changed);
        }
    }
}

/// One test, since it measures what the process allocates.
#[test]
fn mutants_are_refused_or_sound_and_stay_small() {
    shared_data_is_held_once();
    for Subject { name, payload, named } in subjects() {
        assert!(exercise(&payload, &named), "{name} itself");
        let (mut tried, mut accepted) = (0, 0);
        let mut try_it = |mutant: &[u8]| {
            tried += 1;
            accepted += u64::from(exercise(mutant, &named));
        };
        // Twice over in the words of a long payload would take long.
        if payload.len() < 4096 {
            every_field(&payload, &mut try_it);
        }
        for seed in 1..=count() {
            let mut mutant = payload.clone();
            mutate(&mut mutant, &mut Random::new(seed));
            try_it(&mutant);
        }
        for length in (0..payload.len()).step_by(payload.len() / 64 + 1) {
            try_it(&payload[..length]);
        }
        assert!(accepted > 0 && accepted < tried, "{name}: {accepted} of {tried} mutants were read");
    }
}

/// Many values that name the same scales and weights.
fn shared_data_is_held_once() {
    const MANY: u32 = 1000;
    let mut made = Made::new();
    let index = made.entry(&[1_f32; MANY as usize].map(f32::to_le_bytes).concat());
    let weights = made.entry(&[1; MANY as usize]);
    for _ in 0..MANY {
        let quant = Quant::Channel { scales: vec![], dim: 0, index, count: MANY };
        let id = made.internal((Datatype::QCINT8, Some(quant)), &[MANY]);
        made.values[id as usize].constant = weights;
    }
    assert!(exercise(&made.bytes(), &made.named()));
}
