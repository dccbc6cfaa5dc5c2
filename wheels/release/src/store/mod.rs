//! Objects by path in a local folder or in an S3-compatible bucket.
//!
//! What every change relies on, in both places:
//! * a write replaces an object whole or not at all, also if the writer is killed in the middle of it;
//! * [`Store::create`] writes only where nothing is, [`Store::replace`] only where the object is still the one that
//!   the writer has read. Of two writers who start from the same object, one is told that it lost.
//!
//! Buckets offer this through preconditions on requests. In a folder, writers take turns through the lock of one
//! file, which the system releases when a writer ends, and an object's version is its content.

#[cfg(all(test, feature = "s3"))]
pub(crate) mod bucket;
#[cfg(test)]
pub(crate) mod fault;
mod location;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use tokio::runtime::Runtime;

/// How often [`Store::update`] begins again before it gives up.
const ATTEMPTS: u32 = 50;

/// Why an object could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// [`Store::create`] found something, or [`Store::replace`] something other than it was told.
    #[error("`{path}` was changed by another writer at the same time: read it again and repeat")]
    Conflict {
        /// The object.
        path: String,
    },
    /// A path that is not relative, normal and made of plain characters.
    #[error("`{path}` cannot be the path of an object: expected names joined by `/`, without `.` or `..`")]
    Path {
        /// What was given.
        path: String,
    },
    /// A location that says neither a folder nor a bucket.
    #[error("`{location}` is not a place for an index: {reason}")]
    Location {
        /// What was given.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The folder or the bucket failed.
    #[error("cannot {action} `{path}`")]
    Access {
        /// What was tried.
        action: &'static str,
        /// The object.
        path: String,
        /// What the system or the server said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The result of what a store does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Which content an object had when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(Known);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// What the bucket calls it.
    Tag(String),
    /// The content itself, shared with [`Object::bytes`]: to compare is faster than to digest.
    Content(Bytes),
}

/// An object as it was read.
#[derive(Clone, Debug)]
pub struct Object {
    /// Content.
    pub bytes: Bytes,
    /// For [`Store::replace`].
    pub version: Version,
}

/// What a listing says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Path from the root.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// A folder or a bucket. Methods block, and must not be called from asynchronous code. Threads may share a store.
#[derive(Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    /// For folders: the file whose lock makes writers take turns.
    lock: Option<PathBuf>,
    runtime: Runtime,
    name: String,
}

impl Store {
    /// Opens a folder (a path or `file://…`, made if it is missing) or a bucket (`s3://bucket/prefix`, with
    /// credentials, region and endpoint from the usual `AWS_…` variables).
    pub fn open(location: &str) -> Result<Self> {
        let place = location::parse(location)?;
        Self::new(place.objects, place.lock, location)
    }

    /// A store over `objects`, which must honour preconditions unless `lock` names a file to lock.
    pub(crate) fn new(objects: Arc<dyn ObjectStore>, lock: Option<PathBuf>, name: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| access("start the client of", name, source))?;
        Ok(Self { objects, lock, runtime, name: name.to_owned() })
    }

    /// The location as it was given, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object at `path`, if there is one.
    pub fn get(&self, path: &str) -> Result<Option<Object>> {
        let location = parse(path)?;
        let read = async {
            let result = self.objects.get(&location).await?;
            let e_tag = result.meta.e_tag.clone();
            Ok((result.bytes().await?, e_tag))
        };
        match self.runtime.block_on(read) {
            Ok((bytes, e_tag)) => {
                let version = self.version(&bytes, e_tag, path)?;
                Ok(Some(Object { bytes, version }))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(access("read", path, error)),
        }
    }

    /// Whether there is an object at `path`.
    pub fn exists(&self, path: &str) -> Result<bool> {
        let location = parse(path)?;
        match self.runtime.block_on(self.objects.head(&location)) {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(access("look for", path, error)),
        }
    }

    /// Writes `path`, whatever is there.
    pub fn put(&self, path: &str, bytes: impl Into<Bytes>) -> Result<()> {
        let _turn = self.turn()?;
        self.write(path, bytes.into(), PutMode::Overwrite)
    }

    /// Writes `path` if nothing is there, otherwise [`Error::Conflict`].
    pub fn create(&self, path: &str, bytes: impl Into<Bytes>) -> Result<()> {
        let _turn = self.turn()?;
        self.write(path, bytes.into(), PutMode::Create)
    }

    /// Writes `path` if it still is the object of `version`, otherwise [`Error::Conflict`].
    pub fn replace(&self, path: &str, bytes: impl Into<Bytes>, version: &Version) -> Result<()> {
        let _turn = self.turn()?;
        match &version.0 {
            Known::Tag(tag) => {
                let known = UpdateVersion { e_tag: Some(tag.clone()), version: None };
                self.write(path, bytes.into(), PutMode::Update(known))
            }
            Known::Content(_) => match self.get(path)? {
                Some(object) if object.version == *version => {
                    self.write(path, bytes.into(), PutMode::Overwrite)
                }
                _ => Err(Error::Conflict { path: path.to_owned() }),
            },
        }
    }

    /// Writes what `change` makes of the object at `path` (`None` if there is none), and begins again whenever
    /// another writer came first; `change` may thus run several times. If it returns `None` nothing is written.
    /// Returns whether something was.
    pub fn update<E: From<Error>>(
        &self,
        path: &str,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Bytes>, E>,
    ) -> Result<bool, E> {
        for _ in 0..ATTEMPTS {
            let object = self.get(path)?;
            let Some(bytes) = change(object.as_ref().map(|object| &object.bytes[..]))? else {
                return Ok(false);
            };
            let written = match &object {
                Some(object) => self.replace(path, bytes, &object.version),
                None => self.create(path, bytes),
            };
            match written {
                Ok(()) => return Ok(true),
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Conflict { path: path.to_owned() }.into())
    }

    /// Deletes `path`; nothing happens if there is no such object.
    pub fn delete(&self, path: &str) -> Result<()> {
        let _turn = self.turn()?;
        let location = parse(path)?;
        match self.runtime.block_on(self.objects.delete(&location)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(access("delete", path, error)),
        }
    }

    /// Every object below the folder `prefix` (empty for all), sorted by path. Names that begin with `.` are left
    /// out: they are the store's own.
    pub fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let location = if prefix.is_empty() { None } else { Some(parse(prefix)?) };
        let found: Vec<_> = self
            .runtime
            .block_on(self.objects.list(location.as_ref()).try_collect())
            .map_err(|error| access("list", prefix, error))?;
        let mut listed: Vec<_> = found
            .into_iter()
            .filter(|meta| !meta.location.as_ref().split('/').any(|name| name.starts_with('.')))
            .map(|meta| Listed {
                path: meta.location.to_string(),
                size: meta.size,
                modified: meta.last_modified.into(),
            })
            .collect();
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }

    fn write(&self, path: &str, bytes: Bytes, mode: PutMode) -> Result<()> {
        let location = parse(path)?;
        let options = PutOptions { mode, ..PutOptions::default() };
        let put = self.objects.put_opts(&location, PutPayload::from_bytes(bytes), options);
        match self.runtime.block_on(put) {
            Ok(_) => Ok(()),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. }
                | object_store::Error::NotFound { .. },
            ) => Err(Error::Conflict { path: path.to_owned() }),
            Err(error) => Err(access("write", path, error)),
        }
    }

    /// The right to write to a folder, until dropped.
    fn turn(&self) -> Result<Option<File>> {
        let Some(path) = &self.lock else { return Ok(None) };
        let lock = || {
            let file = File::options().create(true).append(true).open(path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map(Some).map_err(|source: std::io::Error| access("lock", &path.display().to_string(), source))
    }

    fn version(&self, bytes: &Bytes, e_tag: Option<String>, path: &str) -> Result<Version> {
        if self.lock.is_some() {
            return Ok(Version(Known::Content(bytes.clone())));
        }
        let tag = e_tag.ok_or_else(|| access("take the version of", path, "the server sends no ETag"))?;
        Ok(Version(Known::Tag(tag)))
    }
}

fn parse(path: &str) -> Result<Path> {
    let invalid = || Error::Path { path: path.to_owned() };
    if path.is_empty() || path.split('/').any(|name| name.is_empty() || name.contains('#')) {
        return Err(invalid());
    }
    Path::parse(path).map_err(|_| invalid())
}

fn access(
    action: &'static str,
    path: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Access { action, path: path.to_owned(), source: source.into() }
}
