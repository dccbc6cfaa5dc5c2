//! Copying elements out of memory with any strides.

use executorch_client::{Layout, Result, Storage, Tensor};
use std::sync::Arc;

/// A dense copy, laid out as `layout`, of the elements at `data` with `strides` in bytes.
///
/// # Safety
/// Every element that the layout's sizes and the strides reach from `data` may be read.
pub unsafe fn gather(layout: Layout, data: *const u8, strides: &[i64]) -> Result<Tensor> {
    let storage = Storage::zeroed(layout.nbytes())?;
    if layout.numel() > 0 {
        let size = layout.dtype().size();
        // Dimensions from the outermost in the copy's memory to the innermost: it is written front to back.
        let dims: Vec<(usize, i64)> = layout
            .dim_order()
            .iter()
            .filter_map(|&d| {
                Some((*layout.sizes().get(usize::from(d))? as usize, *strides.get(usize::from(d))?))
            })
            .collect();
        let mut to = storage.as_ptr();
        // SAFETY: the caller's promise, and the storage holds exactly the elements that are written.
        unsafe { walk(&dims, data, &mut to, size) };
    }
    Tensor::new(layout, Arc::new(storage))
}

/// # Safety
/// As for [`gather`]; `to` has room for all elements of `dims`.
unsafe fn walk(dims: &[(usize, i64)], from: *const u8, to: &mut *mut u8, size: usize) {
    let Some((&(count, stride), inner)) = dims.split_first() else {
        // SAFETY: the caller's promise.
        unsafe {
            from.copy_to_nonoverlapping(*to, size);
            *to = to.add(size);
        }
        return;
    };
    if inner.is_empty() && stride == size as i64 {
        // SAFETY: the caller's promise: `count` elements side by side.
        unsafe {
            from.copy_to_nonoverlapping(*to, count * size);
            *to = to.add(count * size);
        }
        return;
    }
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe { walk(inner, from.offset(index as isize * stride as isize), to, size) };
    }
}
