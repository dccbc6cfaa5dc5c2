//! Where a store is: a folder or a bucket.

use std::path::PathBuf;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

use super::{Error, Result, access};

/// The name of the file whose lock makes writers to a folder take turns.
const LOCK: &str = ".lock";

/// A location, opened.
pub(super) struct Place {
    pub objects: Arc<dyn ObjectStore>,
    pub lock: Option<PathBuf>,
}

/// Opens what `location` names.
pub(super) fn parse(location: &str) -> Result<Place> {
    match location.split_once("://") {
        None => folder(location),
        Some(("file", path)) if path.starts_with('/') => folder(path),
        Some((scheme, _)) => {
            let reason =
                format!("expected a folder, file:///folder or s3://bucket/prefix, found `{scheme}://`");
            Err(Error::Location { location: location.to_owned(), reason })
        }
    }
}

fn folder(path: &str) -> Result<Place> {
    std::fs::create_dir_all(path).map_err(|source| access("make the folder", path, source))?;
    let folder = LocalFileSystem::new_with_prefix(path).map_err(|source| access("open", path, source))?;
    Ok(Place { objects: Arc::new(folder.with_fsync(true)), lock: Some(PathBuf::from(path).join(LOCK)) })
}
