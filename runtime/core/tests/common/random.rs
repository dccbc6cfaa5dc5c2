//! A small generator of numbers, so that a failing seed can be run again.

/// Numbers that checks of sizes and indices get wrong.
pub const WORDS: [u32; 10] =
    [0, 1, 2, 16, 17, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_fffe, 0x4000_0000];

/// xorshift64*.
pub struct Random(u64);

impl Random {
    /// A generator for a seed that is not 0.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Changes a few bytes or words.
    pub fn damage(&mut self, bytes: &mut [u8]) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(3) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                _ => {
                    let at = at & !3;
                    let word = WORDS[self.below(WORDS.len())].to_le_bytes();
                    if let Some(place) = bytes.get_mut(at..at + 4) {
                        place.copy_from_slice(&word);
                    }
                }
            }
        }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
