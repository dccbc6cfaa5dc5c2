//! A store for tests that fails, or lets others act, at a chosen write.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// What happens at the chosen write.
pub(crate) enum At {
    /// The program is killed before it.
    KilledBefore,
    /// The program is killed after it, without learning that it succeeded.
    KilledAfter,
    /// Somebody else does this, just before it.
    Meanwhile(Arc<dyn Fn() + Send + Sync>),
}

/// `inner`, with `at` at the write number `write`, counted from 0.
pub(crate) struct Fault {
    pub inner: Arc<dyn ObjectStore>,
    pub write: usize,
    pub at: At,
    pub seen: AtomicUsize,
}

impl Fault {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, write: usize, at: At) -> Arc<Self> {
        Arc::new(Self { inner, write, at, seen: AtomicUsize::new(0) })
    }

    /// Whether the chosen write was reached.
    pub(crate) fn reached(&self) -> bool {
        self.seen.load(Ordering::SeqCst) > self.write
    }

    fn killed(&self) -> object_store::Error {
        object_store::Error::Generic { store: "fault", source: "the program was killed".into() }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault at {}", self.write)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[async_trait]
impl ObjectStore for Fault {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let number = self.seen.fetch_add(1, Ordering::SeqCst);
        match &self.at {
            At::KilledBefore if number >= self.write => Err(self.killed()),
            At::KilledAfter if number >= self.write => {
                if number == self.write {
                    self.inner.put_opts(location, payload, opts).await?;
                }
                Err(self.killed())
            }
            At::Meanwhile(act) if number == self.write => {
                let act = Arc::clone(act);
                std::thread::spawn(move || act()).join().unwrap();
                self.inner.put_opts(location, payload, opts).await
            }
            _ => self.inner.put_opts(location, payload, opts).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
