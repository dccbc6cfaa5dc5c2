//! The folder: names, reading and writing.

use super::super::digest::{Digest, Fields};
use super::super::log;
use super::super::memory::Packed;
use super::super::state::State;
use super::format::{self, Index, Reference};
use super::map::{self, Mapped};
use super::quota;
use std::fmt;
use std::fs::{DirBuilder, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The ending of the names of packed weights' files.
pub(super) const PACK: &str = "pack";
/// The ending of references' names.
pub(super) const REFERENCE: &str = "ref";
/// The beginning of the names of files that are being written.
pub(super) const TEMPORARY: &str = ".writing-";

/// A folder with packed weights. It may be missing, unreadable, full, or hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

/// A file of packed weights.
#[derive(Debug)]
pub struct Pack {
    file: Arc<Mapped>,
    index: Index,
    state: Option<Digest>,
}

impl Pack {
    /// The weights of a key.
    pub fn get(&self, key: &Digest) -> Option<Packed> {
        Some(Packed::in_file(Arc::clone(&self.file), self.index.get(key)?.clone()))
    }

    /// Whether there are weights of a key.
    pub fn contains(&self, key: &Digest) -> bool {
        self.index.contains_key(key)
    }

    /// What tells the state of the file, every byte of which is right, from all others; nothing if the file was changed
    /// so lately that another change might not show.
    pub fn state(&self) -> Option<Digest> {
        self.state
    }

    /// All weights by their keys.
    pub fn entries(&self) -> impl Iterator<Item = (Digest, Packed)> {
        self.index.iter().map(|(key, range)| (*key, Packed::in_file(Arc::clone(&self.file), range.clone())))
    }
}

impl Folder {
    /// The folder of a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn file(&self, name: Digest, ending: &str) -> PathBuf {
        self.path.join(format!("{}.{ending}", name.to_hex()))
    }

    /// The packed weights of a graph, if there is a file of them that is whole. `whole` is the state in which that is
    /// known: then their data need not be read.
    pub fn pack(&self, graph: Digest, whole: Option<Digest>) -> Option<Pack> {
        let path = self.file(graph, PACK);
        let (file, metadata) = note(&path, map::open(&path))?;
        let state = State::of(&metadata);
        let state = state.is_settled(SystemTime::now()).then(|| {
            let mut fields = Fields::new("a file of packed weights");
            state.write(&mut fields);
            fields.finish()
        });
        let is_known = state.is_some() && state == whole;
        let file = Arc::new(note(&path, Mapped::new(&file))?);
        let index = note(&path, format::read_pack(file.bytes(), graph, !is_known))?;
        Some(Pack { file, index, state })
    }

    /// What is known of a source.
    pub fn reference(&self, source: Digest) -> Option<Reference> {
        let path = self.file(source, REFERENCE);
        let (mut file, _) = note(&path, map::open(&path))?;
        // One byte more than it should have shows that it has more.
        let mut bytes = Vec::with_capacity(format::REFERENCE_SIZE + 1);
        let read = (&mut file).take(format::REFERENCE_SIZE as u64 + 1).read_to_end(&mut bytes);
        note(&path, read)?;
        note(&path, format::read_reference(&bytes, source))
    }

    /// Writes the packed weights of a graph.
    pub fn write_pack(&self, graph: Digest, entries: &[(Digest, &Packed)]) -> io::Result<()> {
        self.make()?;
        let size = entries.iter().map(|(_, packed)| packed.as_ref().len() as u64).sum();
        quota::make(&self.path, size)?;
        self.write(&self.file(graph, PACK), |to| format::write_pack(to, graph, entries))
    }

    /// Notes what is known of a source.
    pub fn write_reference(&self, source: Digest, reference: &Reference) -> io::Result<()> {
        self.make()?;
        let path = self.file(source, REFERENCE);
        self.write(&path, |to| to.write_all(&format::write_reference(source, reference)))
    }

    fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    /// Writes a file such that others see all of it or nothing.
    fn write(&self, path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            // Less what the process's mask takes away.
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(&self.path)?;
        let mut to = BufWriter::with_capacity(1 << 16, file.as_file_mut());
        content(&mut to)?;
        to.flush()?;
        drop(to);
        file.as_file().sync_data()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Logs why a file is not used, unless there is none.
fn note<T, E: fmt::Display + 'static>(path: &Path, result: Result<T, E>) -> Option<T> {
    result
        .inspect_err(|error| {
            let io: Option<&io::Error> = (error as &dyn std::any::Any).downcast_ref();
            if io.is_none_or(|error| error.kind() != io::ErrorKind::NotFound) {
                log::info(|| format!("packed weights in {} are not used: {error}", path.display()));
            }
        })
        .ok()
}
