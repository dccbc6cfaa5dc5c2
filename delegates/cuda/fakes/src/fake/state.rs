//! All that the fake device has, behind one lock, and what waits to be run on it.

use super::*;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Contents of memory that was allocated and not written, and of memory that was freed.
const FRESH: u8 = 0xa5;
const FREED: u8 = 0xdd;
/// Freed blocks that are set aside.
const ASIDE: usize = 256;
/// What blocks start at a multiple of, as CUDA's do.
const ALIGNMENT: usize = 256;

/// Where a block lies, in the numbers of `cudaMemoryType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    Host = 1,
    Device = 2,
    Managed = 3,
}

#[derive(Debug, Clone, Copy)]
pub struct Block {
    pub size: usize,
    pub kind: Kind,
    pub device: i32,
}

/// What can be enqueued.
#[derive(Debug, Clone)]
pub enum Op {
    Copy { to: usize, from: usize, size: usize },
    Fill { to: usize, value: u8, size: usize },
    Kernel { function: usize, parameters: Vec<u64> },
    Host { function: unsafe extern "C" fn(*mut c_void), data: usize },
    Free(usize),
    Record { event: usize, turn: u64 },
}

/// A stream that captures, and what it has captured.
#[derive(Debug, Default)]
pub struct Capture {
    pub ops: Vec<Op>,
    pub invalid: bool,
}

#[derive(Debug, Default)]
pub struct Event {
    /// Number of the last record, and of the last that has been run.
    pub recorded: u64,
    pub done: u64,
    /// The last record went into a graph.
    pub captured: bool,
}

#[derive(Debug)]
pub struct State {
    pub devices: i32,
    pub driver_version: i32,
    pub capability: (i32, i32),
    pub memory: usize,
    pub blocks: BTreeMap<usize, Block>,
    aside: VecDeque<(usize, usize)>,
    pub streams: HashMap<usize, Option<Capture>>,
    pub events: HashMap<usize, Event>,
    pub graphs: HashMap<usize, Arc<[Op]>>,
    pub executables: HashMap<usize, Arc<[Op]>>,
    pub modules: HashMap<usize, modules::Module>,
    pub functions: HashMap<usize, modules::Function>,
    pub pending: Vec<Op>,
    /// The stream of what was enqueued last.
    pub last_stream: usize,
    /// What was done that a GPU would not survive.
    pub faults: Vec<String>,
    next: usize,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// The state, locked.
pub struct Locked(MutexGuard<'static, Option<State>>);

impl std::ops::Deref for Locked {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_ref().unwrap_or_else(|| std::process::abort())
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().unwrap_or_else(|| std::process::abort())
    }
}

/// Locks the state.
pub fn state() -> Locked {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_with(State::new);
    Locked(guard)
}

impl State {
    fn new() -> Self {
        Self {
            devices: 1,
            driver_version: 13_000,
            capability: (9, 0),
            memory: 1 << 34,
            blocks: BTreeMap::new(),
            aside: VecDeque::new(),
            streams: HashMap::new(),
            events: HashMap::new(),
            graphs: HashMap::new(),
            executables: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            pending: Vec::new(),
            last_stream: 0,
            faults: Vec::new(),
            next: 0x7000_0000,
        }
    }

    /// A number for a new handle.
    pub fn handle(&mut self) -> usize {
        self.next += 16;
        self.next
    }

    /// Allocates a block; as CUDA's, none for 0 bytes.
    pub fn allocate(&mut self, size: usize, kind: Kind, device: i32) -> Result<usize, Code> {
        if size == 0 {
            return Ok(0);
        }
        let used: usize = self.blocks.values().map(|block| block.size).sum();
        if used.checked_add(size).is_none_or(|sum| sum > self.memory) {
            return Err(OUT_OF_MEMORY);
        }
        let layout = Layout::from_size_align(size, ALIGNMENT).map_err(|_| OUT_OF_MEMORY)?;
        // SAFETY: the layout has a size.
        let data = unsafe { alloc(layout) };
        if data.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        // SAFETY: `size` bytes were given just now.
        unsafe { data.write_bytes(FRESH, size) };
        self.blocks.insert(data.expose_provenance(), Block { size, kind, device });
        Ok(data.expose_provenance())
    }

    /// Frees a block.
    pub fn free(&mut self, address: usize) -> Result<(), Code> {
        if address == 0 {
            return Ok(());
        }
        let Some(block) = self.blocks.remove(&address) else {
            self.faults.push(format!("{address:#x} was freed, which is no block"));
            return Err(INVALID_VALUE);
        };
        let data = std::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: the block was allocated with its size, and is nobody's any more.
        unsafe { data.write_bytes(FREED, block.size) };
        self.aside.push_back((address, block.size));
        if self.aside.len() > ASIDE
            && let Some((address, size)) = self.aside.pop_front()
            && let Ok(layout) = Layout::from_size_align(size, ALIGNMENT)
        {
            // SAFETY: allocated with this layout, and given back once.
            unsafe { dealloc(std::ptr::with_exposed_provenance_mut(address), layout) };
        }
        Ok(())
    }

    /// The block that an address lies in.
    pub fn block(&self, address: usize) -> Option<(usize, Block)> {
        let (&start, &block) = self.blocks.range(..=address).next_back()?;
        (address < start + block.size).then_some((start, block))
    }

    /// Whether `size` bytes at an address may be used: not past the end of a block, and not in one that was freed.
    fn check(&mut self, what: &str, address: usize, size: usize) -> bool {
        let end = address.saturating_add(size);
        let freed = self
            .aside
            .iter()
            .any(|&(start, length)| address < start + length && start < end.max(address + 1));
        let past = self.block(address).is_some_and(|(start, block)| end > start + block.size);
        if freed || past || address == 0 {
            let how = if freed { "was freed" } else { "ends sooner" };
            self.faults.push(format!("{what} of {size} bytes at {address:#x}, a block that {how}"));
        }
        !(freed || past || address == 0)
    }

    /// Enqueues an operation.
    pub fn enqueue(&mut self, stream: usize, op: Op) -> Result<(), Code> {
        self.last_stream = stream;
        match self.streams.get_mut(&stream) {
            Some(Some(capture)) if capture.invalid => Err(CAPTURE_INVALIDATED),
            Some(Some(capture)) => {
                capture.ops.push(op);
                Ok(())
            }
            Some(None) => {
                self.pending.push(op);
                Ok(())
            }
            // The default streams.
            None if stream <= 2 => {
                self.implicit()?;
                self.pending.push(op);
                Ok(())
            }
            None => Err(INVALID_HANDLE),
        }
    }

    /// Whether a stream captures.
    pub fn captures(&self, stream: usize) -> bool {
        matches!(self.streams.get(&stream), Some(Some(_)))
    }

    /// What uses the default stream, or waits for all, ends every capture.
    pub fn implicit(&mut self) -> Result<(), Code> {
        let mut found = false;
        for capture in self.streams.values_mut().flatten() {
            capture.invalid = true;
            found = true;
        }
        if found { Err(CAPTURE_IMPLICIT) } else { Ok(()) }
    }

    /// Runs all that waits.
    pub fn flush(&mut self) -> Result<(), Code> {
        for op in std::mem::take(&mut self.pending) {
            self.run(op);
        }
        if self.faults.is_empty() { Ok(()) } else { Err(ILLEGAL_ADDRESS) }
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Copy { to, from, size } => {
                if self.check("a copy to", to, size) && self.check("a copy from", from, size) {
                    let from = std::ptr::with_exposed_provenance::<u8>(from);
                    let to = std::ptr::with_exposed_provenance_mut::<u8>(to);
                    // SAFETY: both were checked as far as they are known; the rest is the host's own.
                    unsafe { from.copy_to(to, size) };
                }
            }
            Op::Fill { to, value, size } => {
                if self.check("a fill", to, size) {
                    // SAFETY: as above.
                    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(to).write_bytes(value, size) };
                }
            }
            Op::Kernel { function, parameters } => {
                let touches = |&address: &u64| {
                    self.aside.iter().any(|&(start, size)| {
                        usize::try_from(address).is_ok_and(|address| (start..start + size).contains(&address))
                    })
                };
                if parameters.iter().any(touches) {
                    self.faults.push("a kernel was given memory that was freed".into());
                } else {
                    modules::call(function, parameters);
                }
            }
            // SAFETY: whoever enqueued it said so.
            Op::Host { function, data } => unsafe { function(std::ptr::with_exposed_provenance_mut(data)) },
            Op::Free(address) => {
                let _kept_among_the_faults = self.free(address);
            }
            Op::Record { event, turn } => {
                if let Some(event) = self.events.get_mut(&event) {
                    event.done = event.done.max(turn);
                }
            }
        }
    }
}
