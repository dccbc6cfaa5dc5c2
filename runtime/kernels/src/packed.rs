//! Packed copies of constants, shared by all call sites of the process that need the same one.

use executorch_abi::Result;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// What was packed, by the constant's identity and everything that the packing depends on (but the instruction set,
/// which is one for the process). It keeps nothing alive: the last call site that is released frees its copy.
pub struct Cache<K, V> {
    entries: LazyLock<Mutex<HashMap<K, Weak<V>>>>,
}

impl<K: Eq + Hash, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Eq + Hash, V> Cache<K, V> {
    /// An empty cache.
    pub const fn new() -> Self {
        Self { entries: LazyLock::new(Mutex::default) }
    }

    /// The copy for `key`, made if there is none; without a key, one of its own.
    pub fn get(&self, key: Option<K>, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        let Some(key) = key else { return make().map(Arc::new) };
        if let Some(found) = self.entries().get(&key).and_then(Weak::upgrade) {
            return Ok(found);
        }
        // Made without the lock: other constants may be packed meanwhile.
        let made = Arc::new(make()?);
        let mut entries = self.entries();
        if let Some(found) = entries.get(&key).and_then(Weak::upgrade) {
            return Ok(found);
        }
        if entries.len() == entries.capacity() {
            entries.retain(|_, copy| copy.strong_count() > 0);
        }
        entries.insert(key, Arc::downgrade(&made));
        Ok(made)
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<K, Weak<V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn copies_are_shared_and_freed() {
        let cache = Cache::new();
        let first = cache.get(Some(1), || Ok(10)).unwrap();
        let again = cache.get(Some(1), || panic!("it is there")).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &cache.get(Some(2), || Ok(10)).unwrap()));
        assert!(!Arc::ptr_eq(&cache.get(None, || Ok(10)).unwrap(), &first));
        drop((first, again));
        assert_eq!(*cache.get(Some(1), || Ok(11)).unwrap(), 11);
        for key in 3..1000 {
            cache.get(Some(key), || Ok(0)).unwrap();
        }
        assert!(cache.entries().len() < 900, "dead entries are dropped");
    }
}
