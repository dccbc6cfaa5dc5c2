//! The packed weights of one graph while it is being prepared.

use super::constants::Constants;
use super::digest::{Digest, Fields};
use super::disk::{Folder, Pack, Reference};
use super::machine;
use super::memory::{Packed, Room, Supply};
use super::recipe::{Key, write_graph};
use super::saving::{Kept, Unsaved};
use super::settings::Settings;
use super::table::{Claim, Found, Table};
use crate::graph::{Constant, Graph};
use executorch_abi::error::ET_ERROR_MEMORY_ALLOCATION_FAILED;
use executorch_abi::{Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// The table of the process.
static TABLE: LazyLock<Table> = LazyLock::new(Table::default);

/// Finds and keeps packed weights for a graph: in the process, and in a folder if there is one. Several threads may use
/// it.
pub struct Session {
    /// Nothing if nothing is to be shared.
    table: Option<&'static Table>,
    constants: Constants,
    supply: Supply,
    disk: Option<Disk>,
}

/// A graph's part in a folder.
struct Disk {
    folder: Folder,
    /// Everything that the packed weights depend on but the constants' contents.
    fields: Fields,
    found: OnceLock<OnDisk>,
    /// All weights of the graph so far, by their names in its file.
    used: Mutex<HashMap<Digest, Arc<Packed>>>,
}

/// What there is on disk.
struct OnDisk {
    graph: Digest,
    pack: Option<Pack>,
    /// The source of the graph, if what the folder says of it is to be written again.
    source: Option<Digest>,
}

/// What weights are called, in the process and, if there is a folder, in their graph's file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names {
    process: Digest,
    file: Option<Digest>,
}

/// What [`Session::find`] found.
#[derive(Debug)]
pub(super) enum Lookup {
    /// The weights.
    Packed(Arc<Packed>),
    /// The caller has to pack. With a claim, others wait for it.
    Nothing(Option<Claim<'static>>),
}

impl Session {
    /// Begins with a graph. `configuration` holds everything that decides which weights will be packed but neither the
    /// graph nor the machine tells.
    pub fn new(settings: &Settings, graph: &Graph, configuration: &[u8]) -> Self {
        Self::with_table(&TABLE, settings, graph, configuration)
    }

    pub(super) fn with_table(
        table: &'static Table,
        settings: &Settings,
        graph: &Graph,
        configuration: &[u8],
    ) -> Self {
        let disk = settings.folder.clone().filter(|_| settings.enabled).map(|folder| {
            let mut fields = Fields::with_capacity("graph", 1 << 16);
            fields.digest(machine::identity()).bytes(configuration);
            write_graph(&mut fields, graph);
            Disk { folder, fields, found: OnceLock::new(), used: Mutex::default() }
        });
        let constants = Constants::new(graph);
        let supply = Supply::new(constants.size());
        Self { table: settings.enabled.then_some(table), constants, supply, disk }
    }

    /// Does what the first to ask for weights would have to do while others wait, on all threads.
    pub fn prepare(&self) {
        self.on_disk();
        self.constants.prepare();
    }

    /// The weights of a key: `len` bytes. If they are nowhere, `pack` fills zeroed memory with them; meanwhile others
    /// who want the same wait, and nobody else does.
    ///
    /// `pack` must not ask a session for weights. Fails if it does, or if there is no memory.
    pub fn get_or_pack(
        &self,
        key: &Key,
        len: usize,
        pack: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Arc<Packed>> {
        let names = self.names(key);
        let claim = match self.find(names) {
            Lookup::Packed(packed) if (*packed).as_ref().len() == len => return Ok(packed),
            Lookup::Packed(_) => None,
            Lookup::Nothing(claim) => claim,
        };
        let mut room = self.room(len).ok_or_else(|| {
            Error::new(
                ET_ERROR_MEMORY_ALLOCATION_FAILED,
                format!("there is no memory for {len} bytes of packed weights"),
            )
        })?;
        pack(room.bytes_mut())?;
        let packed = Arc::new(room.into_packed());
        if let Some(claim) = claim {
            self.made(names, claim, &packed);
        }
        Ok(packed)
    }

    /// Ends the session: what was packed is written to the folder, if there is one and it lacks something. What this
    /// returns has to live as long as the graph is in use.
    pub fn finish(&self) -> Kept {
        let (Some(disk), Some(OnDisk { graph, pack, source })) = (&self.disk, self.on_disk()) else {
            return Kept::default();
        };
        let mut entries = std::mem::take(&mut *disk.used());
        let is_whole = entries.keys().all(|name| pack.as_ref().is_some_and(|pack| pack.contains(name)));
        if is_whole && source.is_none() {
            return Kept::default();
        }
        // What others, configured in the same way, found worth packing.
        for (name, packed) in pack.iter().flat_map(Pack::entries).filter(|_| !is_whole) {
            entries.entry(name).or_insert_with(|| Arc::new(packed));
        }
        let entries = (!is_whole).then_some(entries);
        // A new file is read once more before it is trusted.
        let whole = pack.as_ref().filter(|_| is_whole).and_then(Pack::state);
        Unsaved { folder: disk.folder.clone(), graph: *graph, entries, source: *source, whole }.save_or_keep()
    }

    /// Room to pack into, or nothing if there is no memory.
    pub(super) fn room(&self, len: usize) -> Option<Room> {
        self.supply.room(len)
    }

    pub(super) fn names(&self, key: &Key) -> Names {
        let name = |write: fn(&Constants, &mut Fields, &Constant)| {
            let mut fields = key.recipe.clone();
            key.constants.iter().for_each(|constant| write(&self.constants, &mut fields, constant));
            fields.finish()
        };
        let file = self.disk.is_some().then(|| name(Constants::write_number));
        Names { process: name(Constants::write_identity), file }
    }

    /// Looks for weights. The calling thread must have no claim.
    pub(super) fn find(&self, names: Names) -> Lookup {
        let Some(table) = self.table else { return Lookup::Nothing(None) };
        let claim = match table.find(names.process) {
            Found::Packed(packed) => {
                self.note(names, &packed);
                return Lookup::Packed(packed);
            }
            Found::Nothing(claim) => claim,
        };
        match self.on_disk().and_then(|found| found.pack.as_ref()?.get(names.file.as_ref()?)) {
            Some(packed) => {
                let packed = Arc::new(packed);
                self.made(names, claim, &packed);
                Lookup::Packed(packed)
            }
            None => Lookup::Nothing(Some(claim)),
        }
    }

    /// Shares weights that were claimed.
    pub(super) fn made(&self, names: Names, claim: Claim<'_>, packed: &Arc<Packed>) {
        claim.fulfil(packed);
        self.note(names, packed);
    }

    /// Shares weights that were packed without a claim, or gives those that are shared already. The calling thread must
    /// have no claim.
    pub(super) fn add(&self, names: Names, packed: Packed) -> Arc<Packed> {
        match self.find(names) {
            Lookup::Packed(there) if (*there).as_ref().len() == packed.as_ref().len() => there,
            Lookup::Nothing(Some(claim)) => {
                let packed = Arc::new(packed);
                self.made(names, claim, &packed);
                packed
            }
            Lookup::Packed(_) | Lookup::Nothing(None) => Arc::new(packed),
        }
    }

    fn on_disk(&self) -> Option<&OnDisk> {
        let disk = self.disk.as_ref()?;
        Some(disk.found.get_or_init(|| OnDisk::find(&disk.folder, &disk.fields, &self.constants)))
    }

    fn note(&self, names: Names, packed: &Arc<Packed>) {
        if let (Some(disk), Some(file)) = (&self.disk, names.file) {
            disk.used().insert(file, Arc::clone(packed));
        }
    }
}

impl Disk {
    fn used(&self) -> MutexGuard<'_, HashMap<Digest, Arc<Packed>>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnDisk {
    fn find(folder: &Folder, fields: &Fields, constants: &Constants) -> Self {
        // Without reading a constant, if possible.
        let source = constants.source(fields);
        if let Some(Reference { graph, whole }) = source.and_then(|source| folder.reference(source))
            && let Some(pack) = folder.pack(graph, whole)
        {
            let source = source.filter(|_| pack.state() != whole);
            return Self { graph, pack: Some(pack), source };
        }
        let graph = constants.graph(fields);
        Self { graph, pack: folder.pack(graph, None), source }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.disk.as_ref().map(|disk| &disk.folder);
        f.debug_struct("Session")
            .field("shared", &self.table.is_some())
            .field("folder", &folder)
            .finish_non_exhaustive()
    }
}
