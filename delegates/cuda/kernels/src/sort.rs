//! The stable sort.

use crate::code::launch;
use crate::error::{Error, Result, narrow};
use crate::scratch::Scratch;
use executorch_cuda_driver::{Argument, Device, Launch, StreamRef};
use std::ffi::{CStr, c_void};

/// Elements that a block sorts in shared memory.
const BLOCK: u32 = 1024;
/// Threads of a block.
const THREADS: u32 = 256;

/// An element type that can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortType {
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// IEEE binary32.
    Float32,
    /// IEEE binary16.
    Float16,
    /// bfloat16.
    BFloat16,
}

/// Operands of [`sort`], all on the stream's device: contiguous, `[outer][length][inner]`.
#[derive(Debug, Clone, Copy)]
pub struct Sort {
    /// The element type.
    pub element: SortType,
    /// What is sorted.
    pub values: *const c_void,
    /// The sorted values, of the same type and shape. May not overlap the others.
    pub sorted: *mut c_void,
    /// int64 of the same shape: where along the dimension each value was.
    pub indices: *mut c_void,
    /// The product of the dimensions before the sorted one.
    pub outer: u64,
    /// The size of the sorted dimension.
    pub length: u64,
    /// The product of the dimensions behind it.
    pub inner: u64,
    /// Whether the largest comes first.
    pub descending: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Slices {
    count: u64,
    inner: u64,
    length: u32,
}

/// The kernels for a type: of blocks, of merges, of the last step; and the bytes of a key.
fn kernels(element: SortType) -> (&'static CStr, &'static CStr, &'static CStr, u64) {
    match element {
        SortType::Int32 => (c"sort_blocks_i32", c"sort_merge_32", c"sort_gather_32", 4),
        SortType::Int64 => (c"sort_blocks_i64", c"sort_merge_64", c"sort_gather_64", 8),
        SortType::Float32 => (c"sort_blocks_f32", c"sort_merge_32", c"sort_gather_32", 4),
        SortType::Float16 => (c"sort_blocks_f16", c"sort_merge_32", c"sort_gather_16", 4),
        SortType::BFloat16 => (c"sort_blocks_bf16", c"sort_merge_32", c"sort_gather_16", 4),
    }
}

/// Sorts along a dimension, stably in both directions: equal values keep their order. Not-a-number is larger than everything,
/// and both zeros are equal, as in PyTorch; values keep their bits.
///
/// # Safety
/// The addresses hold what [`Sort`] says, until the stream has done the work.
pub unsafe fn sort(stream: StreamRef, device: Device, call: &Sort) -> Result<()> {
    let count = call.outer.checked_mul(call.inner);
    let total = count.and_then(|count| count.checked_mul(call.length)).filter(|&total| total < 1 << 38);
    let (Some(count), Some(total)) = (count, total) else {
        return Err(Error::Unsupported("too many elements to sort, expected less than 2^38".into()));
    };
    if total == 0 {
        return Ok(());
    }
    let slices = Slices { count, inner: call.inner, length: narrow(call.length, "the sorted dimension")? };
    let (blocks, merge, gather, key_bytes) = kernels(call.element);
    let merges = slices.length > BLOCK;
    // Runs are merged from one pair to the other and back.
    let pair = || -> Result<[Scratch; 2]> {
        Ok([Scratch::new::<u8>(stream, total * key_bytes)?, Scratch::new::<u32>(stream, total)?])
    };
    let first = pair()?;
    let second = if merges { Some(pair()?) } else { None };
    let address = |pair: &[Scratch; 2]| pair.each_ref().map(Scratch::address);
    let mut from = address(&first);
    let mut to = second.as_ref().map_or(from, address);
    let descending = i32::from(call.descending);
    let threads =
        Launch::linear(narrow(total.div_ceil(u64::from(THREADS)), "the number of blocks")?, THREADS);
    let grid = narrow(count * u64::from(slices.length.div_ceil(BLOCK)), "the number of blocks")?;
    // SAFETY: the arguments are the kernels', and scratch is as large as they write; the rest is promised by the caller.
    unsafe {
        let [keys, indices] = from;
        let arguments = [
            Argument::new(&call.values),
            Argument::new(&keys),
            Argument::new(&indices),
            Argument::new(&slices),
            Argument::new(&descending),
        ];
        launch(stream, device, blocks, Launch::linear(grid, BLOCK / 2), &arguments)?;
        let mut width = BLOCK;
        while width < slices.length {
            let ([keys, indices], [merged_keys, merged_indices]) = (from, to);
            let arguments = [
                Argument::new(&keys),
                Argument::new(&indices),
                Argument::new(&merged_keys),
                Argument::new(&merged_indices),
                Argument::new(&slices),
                Argument::new(&width),
            ];
            launch(stream, device, merge, threads, &arguments)?;
            std::mem::swap(&mut from, &mut to);
            width = width.saturating_mul(2);
        }
        let [_, indices] = from;
        let arguments = [
            Argument::new(&call.values),
            Argument::new(&indices),
            Argument::new(&call.sorted),
            Argument::new(&call.indices),
            Argument::new(&slices),
        ];
        launch(stream, device, gather, threads, &arguments)
    }
}
