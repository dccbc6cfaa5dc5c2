//! Who may touch a slot, and when: the synchronisation of the whole pool in one word.
//!
//! A slot belongs to nobody (the word is 0), or to the caller that claimed it. The owner writes the job, opens
//! the door with a number of seats, and shuts it when no task is left; each worker that enters takes a seat.
//! Workers read the job only between `enter` and `leave`; the owner writes it only before `open` or after
//! `wait_until_empty`.

use crate::config;
use crate::futex;
use crate::spin::Spin;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

/// The slot has an owner.
const CLAIMED: u32 = 1;
/// The owner sleeps until the last worker has left.
const OWNER_SLEEPS: u32 = 1 << 1;
/// Workers that may still enter; 0 when the door is shut.
const SEAT: u32 = 1 << 8;
const SEATS: u32 = 0xff * SEAT;
/// Workers inside.
const INSIDE: u32 = 1 << 16;
const INSIDES: u32 = 0xff * INSIDE;
/// Only workers with a number below this may enter.
const LIMIT: u32 = 1 << 24;

pub(crate) struct Door(AtomicU32);

impl Door {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Makes the calling thread the owner, unless somebody is.
    pub(crate) fn claim(&self) -> bool {
        self.0.load(Relaxed) == 0 && self.0.compare_exchange(0, CLAIMED, Acquire, Relaxed).is_ok()
    }

    /// Owner: lets up to `seats` workers with numbers below `limit` in (both at most 255).
    pub(crate) fn open(&self, seats: u32, limit: u32) {
        self.0.store(CLAIMED + seats * SEAT + limit * LIMIT, Release);
    }

    /// Worker `index`: enters if it may.
    pub(crate) fn enter(&self, index: u32) -> bool {
        let mut state = self.0.load(Relaxed);
        while state & SEATS != 0 && index < state / LIMIT {
            match self.0.compare_exchange_weak(state, state - SEAT + INSIDE, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Lets nobody in any more. For the owner, and for a worker inside that found no task left.
    pub(crate) fn shut(&self) {
        if self.0.load(Relaxed) & SEATS != 0 {
            self.0.fetch_and(!SEATS, Relaxed);
        }
    }

    /// Worker inside: leaves. It must not touch the job afterwards.
    pub(crate) fn leave(&self) {
        let before = self.0.fetch_sub(INSIDE, Release);
        if before & OWNER_SLEEPS != 0 && before & INSIDES == INSIDE {
            // The slot is never freed, so that it does not matter if the owner is already gone.
            futex::wake(&self.0, 1);
        }
    }

    /// Owner, after `shut`: waits for the workers inside. What they did happens before the return.
    pub(crate) fn wait_until_empty(&self) {
        let empty = || self.0.load(Acquire) & INSIDES == 0;
        if empty() || (config::may_spin() && Spin::new().until(empty)) {
            return;
        }
        loop {
            let state = self.0.fetch_or(OWNER_SLEEPS, Acquire) | OWNER_SLEEPS;
            if state & INSIDES == 0 {
                return;
            }
            futex::wait(&self.0, state);
        }
    }

    /// Owner, after `wait_until_empty`: gives the slot up.
    pub(crate) fn release(&self) {
        self.0.store(0, Release);
    }

    /// Workers inside at the moment.
    pub(crate) fn inside(&self) -> u32 {
        (self.0.load(Relaxed) & INSIDES) / INSIDE
    }

    /// Forgets owner and workers, who do not exist in a forked child.
    pub(crate) fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_and_numbers_are_limited() {
        let door = Door::new();
        assert!(!door.enter(1), "nobody enters an unclaimed slot");
        assert!(door.claim());
        assert!(!door.claim(), "one owner at a time");
        assert!(!door.enter(1), "nobody enters before it is open");
        door.open(2, 5);
        assert!(!door.enter(5), "a number at the limit stays outside");
        assert!(door.enter(4));
        assert!(door.enter(1));
        assert!(!door.enter(2), "two seats");
        assert_eq!(door.inside(), 2);
        door.leave();
        door.leave();
        door.shut();
        door.wait_until_empty();
        door.release();
        assert!(door.claim());
    }

    #[test]
    fn largest_numbers_fit() {
        let door = Door::new();
        assert!(door.claim());
        door.open(254, 255);
        for index in 1..255 {
            assert!(door.enter(index));
        }
        assert!(!door.enter(1));
        assert_eq!(door.inside(), 254);
        door.shut();
        for _ in 1..255 {
            door.leave();
        }
        door.wait_until_empty();
    }
}
