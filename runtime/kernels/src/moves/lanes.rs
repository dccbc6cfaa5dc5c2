//! Transposition of small blocks in vector registers.

#[cfg(target_arch = "aarch64")]
use core::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// A vector of 16 bytes; every processor of the architecture has them.
#[cfg(target_arch = "x86_64")]
type Lanes = __m128i;
#[cfg(target_arch = "aarch64")]
type Lanes = uint8x16_t;

/// Interleaves the units of `N` bytes of two vectors: those of the lower halves, and those of the upper halves.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn zip<const N: usize>(a: Lanes, b: Lanes) -> [Lanes; 2] {
    // SAFETY: SSE2 is part of the architecture.
    unsafe {
        match N {
            1 => [_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)],
            2 => [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)],
            4 => [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)],
            _ => [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)],
        }
    }
}

/// Interleaves the units of `N` bytes of two vectors: those of the lower halves, and those of the upper halves.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn zip<const N: usize>(a: Lanes, b: Lanes) -> [Lanes; 2] {
    // SAFETY: NEON is part of the architecture, and the types are views of the same 16 bytes.
    unsafe {
        match N {
            1 => [vzip1q_u8(a, b), vzip2q_u8(a, b)],
            2 => {
                let (a, b) = (vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b));
                [vreinterpretq_u8_u16(vzip1q_u16(a, b)), vreinterpretq_u8_u16(vzip2q_u16(a, b))]
            }
            4 => {
                let (a, b) = (vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
                [vreinterpretq_u8_u32(vzip1q_u32(a, b)), vreinterpretq_u8_u32(vzip2q_u32(a, b))]
            }
            _ => {
                let (a, b) = (vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b));
                [vreinterpretq_u8_u64(vzip1q_u64(a, b)), vreinterpretq_u8_u64(vzip2q_u64(a, b))]
            }
        }
    }
}

/// Transposes a block of `K` rows of `K` units of `N` bytes, where `K * N` is 16: unit `c` of the row at
/// `from + r * row` becomes unit `r` of the row at `to + c * column`.
///
/// # Safety
/// The rows lie within the memory that the pointers start, and the target's are written by nobody else meanwhile.
#[inline(always)]
pub(super) unsafe fn block<const N: usize, const K: usize>(
    row: isize,
    column: isize,
    from: *const u8,
    to: *mut u8,
) {
    // SAFETY: the caller's promise, here and below; the reads and writes need no alignment.
    let mut rows: [Lanes; K] =
        std::array::from_fn(|r| unsafe { from.offset(r as isize * row).cast::<Lanes>().read_unaligned() });
    // Interleaving the rows with those half a block further down, as often as there are bits in a row's number, takes
    // each unit's row number for its column number.
    for _ in 0..K.ilog2() {
        let half = rows;
        for i in 0..K / 2 {
            [rows[2 * i], rows[2 * i + 1]] = zip::<N>(half[i], half[i + K / 2]);
        }
    }
    for (c, line) in rows.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { to.offset(c as isize * column).cast::<Lanes>().write_unaligned(line) };
    }
}
