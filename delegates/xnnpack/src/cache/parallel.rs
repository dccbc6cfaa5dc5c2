//! Independent pieces of work on the process's thread pool.

use executorch_abi::parallel_tasks;
use std::sync::OnceLock;

/// `body` of each index below `count`; `None` in place of what failed.
pub fn map<T: Send + Sync>(count: usize, body: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    if count <= 1 {
        return (0..count).map(|index| Some(body(index))).collect();
    }
    let mut results: Vec<OnceLock<T>> = Vec::new();
    results.resize_with(count, OnceLock::new);
    // A failure shows as missing results.
    let _ = parallel_tasks(count, &|index| {
        results[index].get_or_init(|| body(index));
    });
    results.into_iter().map(OnceLock::into_inner).collect()
}
