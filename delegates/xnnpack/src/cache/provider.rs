//! A session as the XNNPACK library asks for packed weights.
//!
//! The library names weights by the addresses of what it packs and a number that hardly tells layouts apart. So whoever
//! makes a runtime says beforehand what the addresses stand for, by the [`Key`]s of its nodes; two nodes that have the
//! same addresses and different keys get weights of their own.
//!
//! While it makes a runtime the library asks in this order, for one operator after the other: `look_up`, which not all
//! kinds of operators do; unless that found something, `reserve_space`, which it packs to; `look_up_or_insert`, without
//! an address if `look_up` found something. A runtime that is there only asks for addresses.

use super::memory::{Packed, Room};
use super::recipe::Key;
use super::session::{Lookup, Names, Session};
use super::table::Claim;
use executorch_xnnpack_sys as sys;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the library calls a place that is none.
const NOWHERE: usize = usize::MAX;

/// The packed weights of one runtime. It has to live as long as the runtime.
pub struct Provider {
    /// At a fixed address, which the library keeps.
    shared: Box<Shared>,
}

struct Shared {
    table: sys::xnn_weights_cache_provider,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// While the runtime is being made.
    session: Option<Arc<Session>>,
    /// What the addresses of a filter and a bias stand for; nothing if that is not one thing.
    keys: HashMap<(usize, usize), Option<Key>>,
    /// What was looked for and has to be packed now.
    claim: Option<(Asked, Names, Claim<'static>)>,
    /// What is being packed.
    rooms: Vec<Room>,
    /// Where what was asked for is.
    places: HashMap<Asked, usize>,
    /// Keeps all that the runtime uses.
    packed: Vec<Arc<Packed>>,
}

/// How the library names weights.
type Asked = (u32, usize, usize);

// SAFETY: the address in the table is that of the object itself; all else is behind a lock.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Provider {
    /// For a runtime that is about to be made. `keys` says what the addresses of filters and biases (0 if there is none)
    /// stand for, of all nodes of the runtime; weights that they do not mention are not shared.
    pub fn new(session: Arc<Session>, keys: impl IntoIterator<Item = ((usize, usize), Key)>) -> Self {
        let mut state = State { session: Some(session), ..State::default() };
        for (addresses, key) in keys {
            match state.keys.entry(addresses) {
                Entry::Vacant(entry) => drop(entry.insert(Some(key))),
                Entry::Occupied(mut entry) if entry.get().as_ref() != Some(&key) => drop(entry.insert(None)),
                Entry::Occupied(_) => {}
            }
        }
        let table = sys::xnn_weights_cache_provider {
            context: std::ptr::null_mut(),
            look_up: Some(look_up),
            reserve_space: Some(reserve_space),
            look_up_or_insert: Some(look_up_or_insert),
            is_finalized: Some(is_finalized),
            offset_to_addr: Some(offset_to_addr),
            delete_cache: Some(delete_cache),
        };
        let mut shared = Box::new(Shared { table, state: Mutex::new(state) });
        shared.table.context = (&raw const *shared).cast_mut().cast();
        Self { shared }
    }

    /// For the library, valid as long as this object. Nobody deletes it.
    pub fn as_ptr(&self) -> sys::xnn_weights_cache_t {
        (&raw const self.shared.table).cast_mut()
    }

    /// To be called when the runtime has been made, or could not be: others no longer wait for what it began to pack.
    pub fn close(&self) {
        let mut state = self.shared.state();
        let packed = std::mem::take(&mut state.packed);
        *state = State { packed, ..State::default() };
    }

    /// All weights of the runtime.
    pub fn packed(&self) -> Vec<Arc<Packed>> {
        self.shared.state().packed.clone()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provider").field(&self.packed()).finish()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The session, and what weights are called in it, if they can be shared.
    fn shared(&self, asked: Asked) -> Option<(Arc<Session>, Names)> {
        let (seed, filter, bias) = asked;
        let key = self.keys.get(&(filter, bias))?.as_ref()?;
        let session = Arc::clone(self.session.as_ref()?);
        let names = session.names(&key.clone().number(seed.into()));
        Some((session, names))
    }

    /// Keeps weights for the runtime, and says where they are.
    fn keep(&mut self, asked: Asked, packed: Arc<Packed>) -> usize {
        let place = (*packed).as_ref().as_ptr().expose_provenance();
        self.places.insert(asked, place);
        self.packed.push(packed);
        place
    }

    fn look_up(&mut self, asked: Asked) -> usize {
        // One that was never made good: packing failed.
        self.claim = None;
        let Some((session, names)) = self.shared(asked) else { return NOWHERE };
        match session.find(names) {
            Lookup::Packed(packed) => self.keep(asked, packed),
            Lookup::Nothing(claim) => {
                self.claim = claim.map(|claim| (asked, names, claim));
                NOWHERE
            }
        }
    }

    fn reserve_space(&mut self, size: usize) -> *mut u8 {
        let room = self.session.as_ref().and_then(|session| session.room(size));
        let Some(room) = room else { return std::ptr::null_mut() };
        let address = room.start();
        self.rooms.push(room);
        address
    }

    fn look_up_or_insert(&mut self, asked: Asked, address: usize) -> usize {
        if address == 0 {
            return self.places.get(&asked).copied().unwrap_or(NOWHERE);
        }
        let Some(index) = self.rooms.iter().position(|room| room.start().addr() == address) else {
            return NOWHERE;
        };
        let packed = self.rooms.swap_remove(index).into_packed();
        let packed = match (self.claim.take(), self.session.clone()) {
            (Some((claimed, names, claim)), Some(session)) if claimed == asked => {
                let packed = Arc::new(packed);
                session.made(names, claim, &packed);
                packed
            }
            // What the library packs without having looked for it. Others may wait for what was claimed.
            (claim, _) => {
                drop(claim);
                match self.shared(asked) {
                    Some((session, names)) => session.add(names, packed),
                    None => Arc::new(packed),
                }
            }
        };
        self.keep(asked, packed)
    }
}

/// # Safety
/// `context` is that of a live [`Provider`].
unsafe fn with_state<T>(context: *mut c_void, failed: T, body: impl FnOnce(&mut State) -> T) -> T {
    // SAFETY: the caller's promise: it is a `Shared`.
    let shared = unsafe { &*context.cast::<Shared>() };
    // An unwind must not enter the library.
    catch_unwind(AssertUnwindSafe(|| body(&mut shared.state()))).unwrap_or(failed)
}

/// # Safety
/// `key` is the library's.
unsafe fn asked(key: *const sys::xnn_weights_cache_look_up_key) -> Asked {
    // SAFETY: the caller's promise.
    let key = unsafe { &*key };
    (key.seed, key.kernel.addr(), key.bias.addr())
}

unsafe extern "C" fn look_up(context: *mut c_void, key: *const sys::xnn_weights_cache_look_up_key) -> usize {
    // SAFETY: the library passes the provider's context and a key of its own.
    unsafe { with_state(context, NOWHERE, |state| state.look_up(asked(key))) }
}

unsafe extern "C" fn reserve_space(context: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as above.
    unsafe { with_state(context, std::ptr::null_mut(), |state| state.reserve_space(size)) }.cast()
}

unsafe extern "C" fn look_up_or_insert(
    context: *mut c_void,
    key: *const sys::xnn_weights_cache_look_up_key,
    packed: *mut c_void,
    _: usize,
) -> usize {
    // SAFETY: as above.
    unsafe { with_state(context, NOWHERE, |state| state.look_up_or_insert(asked(key), packed.addr())) }
}

/// Runtimes may run as soon as they are made: what they use never moves.
unsafe extern "C" fn is_finalized(_: *mut c_void) -> bool {
    true
}

/// Places are addresses, so that runtimes need no lock to find what they use.
unsafe extern "C" fn offset_to_addr(_: *mut c_void, place: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(place)
}

/// The provider deletes itself.
unsafe extern "C" fn delete_cache(_: *mut c_void) -> sys::xnn_status {
    sys::xnn_status::xnn_status_success
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::super::table::Table;
    use super::super::tests::{graph, weights};
    use super::*;
    use crate::graph::{Graph, Role};

    const SIZE: usize = 256;

    fn session(table: &'static Table, graph: &Graph) -> Arc<Session> {
        let settings = Settings { enabled: true, folder: None };
        Arc::new(Session::with_table(table, &settings, graph, b""))
    }

    /// The addresses of the filter and the bias of the only node.
    fn addresses(graph: &Graph) -> (usize, usize) {
        let address = |value: usize| match &graph.values[value].role {
            Role::Constant(constant) => constant.bytes().as_ptr().addr(),
            _ => 0,
        };
        (address(1), address(2))
    }

    fn provider(session: &Arc<Session>, graph: &Graph) -> Provider {
        let key = Key::of_node("library", graph, &graph.nodes[0]);
        Provider::new(Arc::clone(session), [(addresses(graph), key)])
    }

    /// The library's side.
    struct Library<'p>(&'p Provider, sys::xnn_weights_cache_look_up_key);

    impl<'p> Library<'p> {
        fn new(provider: &'p Provider, seed: u32, (filter, bias): (usize, usize)) -> Self {
            let (kernel, bias) = (std::ptr::without_provenance(filter), std::ptr::without_provenance(bias));
            Self(provider, sys::xnn_weights_cache_look_up_key { seed, kernel, bias })
        }

        fn table(&self) -> sys::xnn_weights_cache_provider {
            // SAFETY: the provider is alive.
            unsafe { *self.0.as_ptr() }
        }

        fn look_up(&self) -> usize {
            // SAFETY: called as the library does, here and below.
            unsafe { self.table().look_up.unwrap()(self.table().context, &self.1) }
        }

        fn reserve(&self, fill: u8) -> *mut c_void {
            // SAFETY: as above.
            unsafe {
                let room = self.table().reserve_space.unwrap()(self.table().context, SIZE);
                assert!(room.addr().is_multiple_of(64));
                room.cast::<u8>().write_bytes(fill, SIZE);
                room
            }
        }

        fn insert(&self, packed: *mut c_void) -> usize {
            // SAFETY: as above.
            unsafe { self.table().look_up_or_insert.unwrap()(self.table().context, &self.1, packed, SIZE) }
        }

        fn read(&self, place: usize) -> u8 {
            assert_ne!(place, NOWHERE);
            // SAFETY: as above; a place that it was given holds `SIZE` bytes.
            unsafe {
                let address = self.table().offset_to_addr.unwrap()(self.table().context, place).cast::<u8>();
                let all = std::slice::from_raw_parts(address, SIZE);
                assert!(all.iter().all(|&b| b == all[0]));
                all[0]
            }
        }

        /// As convolutions and fully connected operators do, and whether it had to pack.
        fn pack(&self, fill: u8) -> (usize, bool) {
            let found = self.look_up();
            if found != NOWHERE {
                assert_eq!(self.insert(std::ptr::null_mut()), found);
                return (found, false);
            }
            (self.insert(self.reserve(fill)), true)
        }
    }

    #[test]
    fn runtimes_share() {
        let table: &'static Table = Box::leak(Box::default());
        let graph = graph(&weights(3));
        let session = session(table, &graph);
        let (first, second) = (provider(&session, &graph), provider(&session, &graph));
        let library = Library::new(&first, 1, addresses(&graph));
        let (place, packed) = library.pack(7);
        assert!(packed && library.read(place) == 7);
        assert_eq!(library.pack(8), (place, false), "a second operator of the same runtime");
        first.close();
        assert_eq!(library.read(place), 7);
        assert_eq!(library.look_up(), NOWHERE, "it is closed");

        let library = Library::new(&second, 1, addresses(&graph));
        assert_eq!(library.pack(9), (place, false), "another runtime");
        let other_layout = Library::new(&second, 2, addresses(&graph)).pack(9);
        assert!(other_layout.1 && other_layout.0 != place);
        drop(first);
        assert_eq!(library.read(place), 7, "still used by the second");
        let weak = Arc::downgrade(&second.packed()[0]);
        drop(second);
        assert!(weak.upgrade().is_none(), "freed with the last one");
    }

    #[test]
    fn what_is_packed_without_looking_is_shared_too() {
        let table: &'static Table = Box::leak(Box::default());
        let graph = graph(&weights(3));
        let session = session(table, &graph);
        let provider = provider(&session, &graph);
        let library = Library::new(&provider, 1, addresses(&graph));
        let place = library.insert(library.reserve(3));
        assert_eq!(library.insert(library.reserve(3)), place);
        assert_eq!(library.read(place), 3);
        let packed = provider.packed();
        assert!(packed.iter().all(|other| Arc::ptr_eq(other, &packed[0])), "the second copy is gone");
    }

    #[test]
    fn what_addresses_do_not_tell_apart_is_not_shared() {
        let table: &'static Table = Box::leak(Box::default());
        let graph = graph(&weights(3));
        let session = session(table, &graph);
        let key = |packer| Key::of_node(packer, &graph, &graph.nodes[0]);
        let same = addresses(&graph);
        for keys in [
            vec![],
            vec![(same, key("a")), (same, key("b"))],
            vec![(same, key("a")), (same, key("b")), (same, key("a"))],
        ] {
            let provider = Provider::new(Arc::clone(&session), keys);
            let library = Library::new(&provider, 1, same);
            let (first, packed) = library.pack(1);
            let (second, again) = library.pack(2);
            assert!(packed && again && first != second);
            assert_eq!((library.read(first), library.read(second)), (1, 2));
        }
        let provider = Provider::new(session, [(same, key("a")), (same, key("a"))]);
        let library = Library::new(&provider, 1, same);
        assert_eq!(library.pack(1).0, library.pack(2).0, "the same twice is one");
    }

    #[test]
    fn who_fails_does_not_hold_others_up() {
        let table: &'static Table = Box::leak(Box::default());
        let graph = graph(&weights(3));
        let session = session(table, &graph);
        let failing = provider(&session, &graph);
        let library = Library::new(&failing, 1, addresses(&graph));
        assert_eq!(library.look_up(), NOWHERE);
        library.reserve(1);
        let waiting = provider(&session, &graph);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let library = Library::new(&waiting, 1, addresses(&graph));
                let (place, packed) = library.pack(2);
                (library.read(place), packed)
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            failing.close();
            assert_eq!(other.join().unwrap(), (2, true));
        });
        // Not closed, but on to the next: as when only one operator could not be made.
        let failing = provider(&session, &graph);
        let (one, two) =
            (Library::new(&failing, 5, addresses(&graph)), Library::new(&failing, 6, addresses(&graph)));
        assert_eq!(one.look_up(), NOWHERE);
        assert!(two.pack(6).1);
        assert!(one.pack(5).1);
        assert_eq!(library.insert(std::ptr::dangling_mut()), NOWHERE, "nothing was reserved there");
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let table: &'static Table = Box::leak(Box::default());
        let graph = graph(&weights(3));
        let provider = provider(&session(table, &graph), &graph);
        let library = Library::new(&provider, 1, addresses(&graph));
        // SAFETY: called as the library does.
        let room =
            unsafe { library.table().reserve_space.unwrap()(library.table().context, usize::MAX - 10) };
        assert!(room.is_null());
    }
}
