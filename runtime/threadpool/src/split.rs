//! Cutting a range of elements into chunks.

/// Chunks per thread, if the range is long enough. More than one evens out threads that start late or are
/// slower; the cost of a chunk is small against a grain by the meaning of "grain".
const CHUNKS_PER_THREAD: u64 = 4;

/// `[begin, begin + length)` cut into `chunks` parts that differ by at most one element.
#[derive(Clone, Copy)]
pub(crate) struct Split {
    begin: i64,
    each: u64,
    extra: u64,
    chunks: u64,
}

impl Split {
    /// Cuts a non-empty range into chunks of at least `grain` elements (one chunk if it is shorter): at most one
    /// per thread if the range is short, else the same number for each thread.
    pub(crate) fn new(begin: i64, end: i64, grain: i64, threads: u32) -> Self {
        // Exact even where the difference does not fit an i64.
        let length = end.wrapping_sub(begin).cast_unsigned();
        let units = (length / grain.cast_unsigned().max(1)).max(1);
        let threads = u64::from(threads.max(1));
        let chunks = match threads {
            1 => 1,
            _ if units <= threads => units,
            _ => (units / threads).min(CHUNKS_PER_THREAD) * threads,
        };
        Self { begin, each: length / chunks, extra: length % chunks, chunks }
    }

    /// The number of chunks, from 1 to a small multiple of the thread count.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    /// Begin and end of one chunk.
    pub(crate) fn chunk(&self, index: usize) -> (i64, i64) {
        let index = index as u64;
        let start = index * self.each + index.min(self.extra);
        let length = self.each + u64::from(index < self.extra);
        let begin = self.begin.wrapping_add_unsigned(start);
        (begin, begin.wrapping_add_unsigned(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(begin: i64, end: i64, grain: i64, threads: u32) {
        let split = Split::new(begin, end, grain, threads);
        let mut at = begin;
        let whole = i128::from(end) - i128::from(begin);
        let (mut shortest, mut longest) = (i128::MAX, 0);
        for index in 0..split.chunks() {
            let (from, to) = split.chunk(index);
            assert_eq!(from, at, "chunks follow one another");
            let length = i128::from(to) - i128::from(from);
            assert!(length >= i128::from(grain).min(whole), "at least a grain");
            (shortest, longest) = (shortest.min(length), longest.max(length));
            at = to;
        }
        assert_eq!(at, end);
        assert!(longest - shortest <= 1, "even");
        let chunks = split.chunks();
        assert!(chunks <= threads as usize || chunks.is_multiple_of(threads as usize), "balanced");
    }

    #[test]
    fn chunks_cover_the_range() {
        for threads in [1, 2, 3, 7, 64, 255] {
            for grain in [1, 2, 3, 10, 1000, i64::MAX] {
                for length in [1, 2, 3, 5, 8, 63, 64, 65, 100, 1023, 4097] {
                    check(0, length, grain, threads);
                    check(-17, length - 17, grain, threads);
                }
                check(i64::MIN, i64::MAX, grain, threads);
                check(i64::MAX - 3, i64::MAX, grain, threads);
            }
        }
    }

    #[test]
    fn short_ranges_give_one_chunk_per_thread() {
        assert_eq!(Split::new(0, 1_000_000, 1, 1).chunks(), 1);
        assert_eq!(Split::new(0, 100, 100, 8).chunks(), 1);
        assert_eq!(Split::new(0, 399, 100, 8).chunks(), 3);
        assert_eq!(Split::new(0, 900, 100, 8).chunks(), 8);
        assert_eq!(Split::new(0, 1_000_000, 100, 8).chunks(), 32);
    }
}
