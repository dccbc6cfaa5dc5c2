//! Places in one arena for the values that segments hand to each other, by the times at which they are in use.

use super::Plan;
use crate::graph::{Graph, Role, ValueId};

/// Alignment of values in the arena, in bytes.
pub const ALIGNMENT: usize = 64;
/// Bytes after a value that the library may read (and ignores): its `XNN_EXTRA_BYTES`.
pub const SLACK: usize = 16;

/// Where values lie in the arena.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// For each value of the graph its offset, if it lies in the arena.
    pub offsets: Vec<Option<usize>>,
    /// Bytes of the arena.
    pub size: usize,
}

/// A value's time: made by segment `first`, read last by segment `last`.
#[derive(Debug, Clone, Copy)]
struct Span {
    value: ValueId,
    first: usize,
    last: usize,
    bytes: usize,
}

impl Layout {
    /// Places every value that crosses segments, given the bytes of each value; `None` if the sum overflows.
    ///
    /// Large values go first, each into the smallest gap that holds it among those in use at the same time: the
    /// usual greedy plan, which is close to the least possible.
    pub fn new(graph: &Graph, plan: &Plan, bytes: impl Fn(ValueId) -> Option<usize>) -> Option<Self> {
        let mut spans = Vec::new();
        for (first, segment) in plan.segments.iter().enumerate() {
            for &value in &segment.writes {
                if !matches!(graph.value(value).role, Role::Internal) {
                    continue;
                }
                let reads = |s: &super::Segment| s.reads.contains(&value);
                let last = plan.segments.iter().rposition(reads).unwrap_or(first);
                let bytes = bytes(value)?.checked_add(SLACK)?.checked_next_multiple_of(ALIGNMENT)?;
                spans.push(Span { value, first, last, bytes });
            }
        }
        spans.sort_by_key(|s| std::cmp::Reverse(s.bytes));
        let mut layout = Self { offsets: vec![None; graph.values.len()], size: 0 };
        // Those placed so far, by offset.
        let mut placed: Vec<(usize, Span)> = Vec::with_capacity(spans.len());
        for span in spans {
            let mut best: Option<(usize, usize)> = None;
            let mut end = 0;
            for (offset, other) in placed.iter().filter(|(_, o)| o.first <= span.last && span.first <= o.last)
            {
                let gap = offset.saturating_sub(end);
                if gap >= span.bytes && best.is_none_or(|(least, _)| gap < least) {
                    best = Some((gap, end));
                }
                end = end.max(offset + other.bytes);
            }
            let offset = best.map_or(end, |(_, offset)| offset);
            let stop = offset.checked_add(span.bytes)?;
            layout.size = layout.size.max(stop);
            if let Some(slot) = layout.offsets.get_mut(span.value.index()) {
                *slot = Some(offset);
            }
            let at = placed.partition_point(|(o, _)| *o < offset);
            placed.insert(at, (offset, span));
        }
        Some(layout)
    }
}
