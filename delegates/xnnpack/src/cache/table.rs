//! What is packed in this process.

use super::digest::Digest;
use super::memory::Packed;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Packed weights by what they were packed from and how. It keeps none alive.
#[derive(Debug, Default)]
pub struct Table {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Digest, Entry>,
    /// Threads that wait for an entry: mostly none, and then nobody is woken.
    waiting: usize,
}

#[derive(Debug)]
enum Entry {
    /// Somebody has a [`Claim`] on it.
    Claimed,
    Packed(Weak<Packed>),
}

/// What [`Table::find`] found.
#[derive(Debug)]
pub enum Found<'t> {
    /// It is there.
    Packed(Arc<Packed>),
    /// It is not, and whoever wants the same now waits for the caller to make it.
    Nothing(Claim<'t>),
}

/// The right and duty to make an entry. Dropped without having made it, the right goes to one of those who wait.
#[derive(Debug)]
pub struct Claim<'t> {
    table: &'t Table,
    key: Digest,
}

impl Table {
    /// Finds an entry; waits while another thread makes it. A thread must not wait while it has a claim.
    pub fn find(&self, key: Digest) -> Found<'_> {
        let mut state = self.state();
        loop {
            match state.entries.get(&key) {
                Some(Entry::Packed(packed)) => match packed.upgrade() {
                    Some(packed) => return Found::Packed(packed),
                    None => break,
                },
                Some(Entry::Claimed) => {
                    state.waiting += 1;
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                }
                None => break,
            }
        }
        let entries = &mut state.entries;
        if entries.len() == entries.capacity() {
            entries.retain(|_, entry| !matches!(entry, Entry::Packed(packed) if packed.strong_count() == 0));
        }
        entries.insert(key, Entry::Claimed);
        Found::Nothing(Claim { table: self, key })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    /// Gives what was made to those who wait, and to those who come as long as somebody has it.
    pub fn fulfil(self, packed: &Arc<Packed>) {
        if let Some(entry) = self.table.state().entries.get_mut(&self.key) {
            *entry = Entry::Packed(Arc::downgrade(packed));
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.table.state();
        if let Some(Entry::Claimed) = state.entries.get(&self.key) {
            state.entries.remove(&self.key);
        }
        if state.waiting > 0 {
            drop(state);
            self.table.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Supply;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn key(i: usize) -> Digest {
        Digest::of(&i.to_le_bytes())
    }

    fn packed(fill: u8) -> Arc<Packed> {
        let mut room = Supply::new(0).room(100).unwrap();
        room.bytes_mut().fill(fill);
        Arc::new(room.into_packed())
    }

    fn make(table: &Table, key: Digest, fill: u8) -> Arc<Packed> {
        match table.find(key) {
            Found::Packed(there) => there,
            Found::Nothing(claim) => {
                let new = packed(fill);
                claim.fulfil(&new);
                new
            }
        }
    }

    #[test]
    fn entries_are_shared_and_freed() {
        let table = Table::default();
        let first = make(&table, key(1), 1);
        assert!(Arc::ptr_eq(&first, &make(&table, key(1), 2)));
        assert!(!Arc::ptr_eq(&first, &make(&table, key(2), 1)));
        assert_eq!(Arc::strong_count(&first), 1);
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_none(), "the table keeps nothing alive");
        assert_eq!((*make(&table, key(1), 9)).as_ref()[..3], [9, 9, 9]);
        for i in 3..1000 {
            make(&table, key(i), 0);
        }
        assert!(table.state().entries.len() < 900, "entries of the dead are dropped");
    }

    #[test]
    fn one_makes_and_the_others_wait() {
        let table = Table::default();
        let made = AtomicUsize::new(0);
        let first = std::thread::scope(|scope| {
            let Found::Nothing(claim) = table.find(key(1)) else { panic!("nothing is there yet") };
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| match table.find(key(1)) {
                        Found::Packed(packed) => packed,
                        Found::Nothing(_) => {
                            made.fetch_add(1, Ordering::Relaxed);
                            packed(0)
                        }
                    })
                })
                .collect();
            // Another entry is no concern of theirs.
            make(&table, key(2), 2);
            std::thread::sleep(std::time::Duration::from_millis(20));
            let first = packed(1);
            claim.fulfil(&first);
            for thread in threads {
                assert!(Arc::ptr_eq(&thread.join().unwrap(), &first));
            }
            first
        });
        assert_eq!(made.into_inner(), 0);
        drop(first);
    }

    #[test]
    fn who_fails_hands_over() {
        let table = Table::default();
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for i in 0..8 {
                let (table, made) = (&table, &made);
                scope.spawn(move || {
                    if let Found::Nothing(claim) = table.find(key(1)) {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                        // All but the last to try fail.
                        if made.fetch_add(1, Ordering::Relaxed) == 7 {
                            claim.fulfil(&packed(i));
                        }
                    }
                });
            }
        });
        assert_eq!(made.into_inner(), 8, "each got the right in its turn");
    }
}
