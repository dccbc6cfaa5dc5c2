//! Damaged payloads.

use super::made::*;
use super::random::Random;
use super::{Named, Program, programs};

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
pub struct Subject {
    pub name: String,
    pub payload: Vec<u8>,
    pub named: Named,
}

/// Every kind and representation by hand, and what the exporter wrote if it is not too long for a test.
pub fn subjects() -> Vec<Subject> {
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

/// `ET_MUTANTS` sets how many mutants of each payload are tried.
pub fn count() -> u64 {
    std::env::var("ET_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// Changes one to three places.
pub fn mutate(bytes: &mut [u8], random: &mut Random) {
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
pub fn every_field(original: &[u8], mut use_it: impl FnMut(&[u8])) {
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
