//! Telling a tracer what a delegate does.

use executorch_abi::tracer::{et_event_place_t, et_event_tracer_t};
use std::ffi::{CStr, c_void};

/// The tracer of a load or a run. Without one, everything here is one comparison with null.
#[derive(Debug, Clone, Copy)]
pub struct Tracer<'c> {
    raw: Option<&'c et_event_tracer_t>,
}

/// An event that has begun; it ends when it is dropped.
#[must_use]
#[derive(Debug)]
pub struct Event<'c> {
    begun: Option<(&'c et_event_tracer_t, u64)>,
}

impl<'c> Tracer<'c> {
    /// # Safety
    /// `raw` is null or obeys the ABI during `'c`.
    #[inline]
    pub(crate) unsafe fn new(raw: *const et_event_tracer_t) -> Self {
        // SAFETY: the caller's promise.
        Self { raw: unsafe { raw.as_ref() } }
    }

    /// Whether there is one. Ask before making names or metadata.
    #[inline]
    pub fn is_attached(&self) -> bool {
        self.raw.is_some()
    }

    /// Begins an event, such as a node's run. `id` is the delegate's own number for it, at least 0, by which tools find
    /// what the exporter knows of it.
    #[inline]
    pub fn begin(&self, name: &CStr, id: Option<i32>) -> Event<'c> {
        match self.raw {
            None => Event { begun: None },
            Some(raw) => begin(raw, name, id),
        }
    }

    /// Records an event that has ended, whose times come from the delegate's own clock. `metadata` is the delegate's.
    #[inline]
    pub fn log(&self, name: &CStr, id: Option<i32>, start: u64, end: u64, metadata: &[u8]) {
        if let Some(raw) = self.raw {
            log(raw, name, id, start, end, metadata);
        }
    }
}

impl Event<'_> {
    /// Ends the event with bytes of the delegate's own, which the tracer copies.
    pub fn end_with(mut self, metadata: &[u8]) {
        self.end(metadata);
    }

    #[inline]
    fn end(&mut self, metadata: &[u8]) {
        if let Some((raw, token)) = self.begun.take() {
            end(raw, token, metadata);
        }
    }
}

impl Drop for Event<'_> {
    #[inline]
    fn drop(&mut self) {
        self.end(&[]);
    }
}

fn place(name: &CStr, id: Option<i32>) -> et_event_place_t {
    et_event_place_t {
        chain: -1,
        instruction: -1,
        delegate_id: id.unwrap_or(-1),
        reserved: 0,
        delegate_name: name.as_ptr(),
    }
}

#[cold]
fn begin<'c>(raw: &'c et_event_tracer_t, name: &CStr, id: Option<i32>) -> Event<'c> {
    // SAFETY: the tracer obeys the ABI; name and place live through the call.
    let token = raw.begin_event.map(|f| unsafe { f(raw.user_data, name.as_ptr(), &place(name, id)) });
    Event { begun: token.map(|token| (raw, token)) }
}

#[cold]
fn end(raw: &et_event_tracer_t, token: u64, metadata: &[u8]) {
    if let Some(end) = raw.end_event {
        let (data, size) = bytes(metadata);
        // SAFETY: the tracer obeys the ABI and gave the token; the bytes live through the call.
        unsafe { end(raw.user_data, token, data, size) }
    }
}

#[cold]
fn log(raw: &et_event_tracer_t, name: &CStr, id: Option<i32>, start: u64, end: u64, metadata: &[u8]) {
    if let Some(log) = raw.log_event {
        let (data, size) = bytes(metadata);
        // SAFETY: the tracer obeys the ABI; name, place and bytes live through the call.
        unsafe { log(raw.user_data, name.as_ptr(), &place(name, id), start, end, data, size) }
    }
}

fn bytes(metadata: &[u8]) -> (*const c_void, usize) {
    let data = if metadata.is_empty() { std::ptr::null() } else { metadata.as_ptr().cast() };
    (data, metadata.len())
}
