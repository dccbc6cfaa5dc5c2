//! Damaged payloads: whatever they say, reading ends in an error or in a graph that keeps its promises, in bounded memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::counting::{Counting, bytes, peak};
use common::made::*;
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

const SHORTS: [u16; 5] = [0, 1, 4, 0x7fff, 0xffff];
const WORDS: [u32; 14] = [
    0,
    1,
    2,
    3,
    6,
    7,
    16,
    17,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0xffff_fffe,
    0x4000_0000,
    // Infinity as a scale or limit.
    0x7f80_0000,
];
const LONGS: [u64; 6] = [0, u64::MAX, u64::MAX - 63, 1 << 63, 1 << 32, i64::MAX as u64];

/// A payload with what belongs to it.
struct Subject {
    name: String,
    payload: Vec<u8>,
    named: Named,
}

/// Every kind and representation by hand, and what the exporter wrote if it is not too long for a test.
fn subjects() -> Vec<Subject> {
    let by_hand = |name: String, made: Made| Subject { name, payload: made.bytes(), named: made.named() };
    let kinds = catalog::kinds().into_iter().map(|(kind, made)| by_hand(format!("{kind:?}"), made));
    let other = catalog::representations().into_iter().map(|(name, made)| by_hand(name.into(), made));
    let mut all: Vec<Subject> = kinds.chain(other).collect();
    for path in programs() {
        let program = Program::open(&path);
        let short = program.payloads.into_iter().filter(|payload| payload.len() < 1 << 16).take(4);
        all.extend(short.map(|payload| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            Subject { name, payload, named: program.named.clone() }
        }));
    }
    all
}

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

/// `ET_MUTANTS` sets how many mutants of each payload are tried.
fn count() -> u64 {
    std::env::var("ET_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

fn mutate(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => {
                // A word of elsewhere: an id, an offset, a size that is plausible.
                let (from, to) = (random.below(bytes.len()) & !3, at & !3);
                if from + 4 <= bytes.len() && to + 4 <= bytes.len() {
                    bytes.copy_within(from..from + 4, to);
                }
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())].to_le_bytes();
                if let Some(place) = bytes.get_mut(at & !3..(at & !3) + 4) {
                    place.copy_from_slice(&word);
                }
            }
        }
    }
}

/// Each aligned word of 2, 4 and 8 bytes becomes what hurts most as an offset (also one to nowhere: an absent field), a
/// length, an id, a size, a number. Words nearby take each other's places.
fn every_field(original: &[u8], mut use_it: impl FnMut(&[u8])) {
    let mut bytes = original.to_vec();
    let mut put = |at: usize, new: &[u8]| {
        if at + new.len() <= original.len() && original[at..at + new.len()] != *new {
            bytes[at..at + new.len()].copy_from_slice(new);
            use_it(&bytes);
            bytes[at..at + new.len()].copy_from_slice(&original[at..at + new.len()]);
        }
    };
    for at in (0..original.len()).step_by(2) {
        SHORTS.iter().for_each(|short| put(at, &short.to_le_bytes()));
        if at % 4 == 0 {
            WORDS.iter().for_each(|word| put(at, &word.to_le_bytes()));
            let near = [at.saturating_sub(4), at + 4, at + 8];
            near.iter().filter_map(|&near| original.get(near..near + 4)).for_each(|word| put(at, word));
        }
        if at % 8 == 0 {
            LONGS.iter().for_each(|long| put(at, &long.to_le_bytes()));
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
