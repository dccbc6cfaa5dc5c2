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
        Some(("file", path)) if path.starts_with('/') => folder(path),
        Some(("s3", rest)) => bucket(location, rest),
        None if !location.is_empty() => folder(location),
        _ => Err(unusable(location, "expected a folder, file:///folder or s3://bucket/prefix")),
    }
}

fn folder(path: &str) -> Result<Place> {
    std::fs::create_dir_all(path).map_err(|source| access("make the folder", path, source))?;
    let folder = LocalFileSystem::new_with_prefix(path).map_err(|source| access("open", path, source))?;
    Ok(Place { objects: Arc::new(folder.with_fsync(true)), lock: Some(PathBuf::from(path).join(LOCK)) })
}

/// A bucket, or a folder of it. Credentials, region and endpoint come from the variables that S3 clients use.
#[cfg(feature = "s3")]
fn bucket(location: &str, rest: &str) -> Result<Place> {
    use object_store::aws::AmazonS3Builder;

    bucket_of(AmazonS3Builder::from_env(), location, rest)
}

/// The same at the server that `server` says.
#[cfg(feature = "s3")]
pub(super) fn bucket_of(
    server: object_store::aws::AmazonS3Builder,
    location: &str,
    rest: &str,
) -> Result<Place> {
    use object_store::aws::S3ConditionalPut;
    use object_store::path::Path;
    use object_store::prefix::PrefixStore;

    let rest = rest.trim_end_matches('/');
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let Some(prefix) = Path::parse(prefix).ok().filter(|_| !name.is_empty()) else {
        return Err(unusable(location, "expected s3://bucket or s3://bucket/prefix"));
    };
    // Another part of the program may have chosen the cryptography of TLS already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bucket = server
        .with_bucket_name(name)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .build()
        .map_err(|source| access("open", location, source))?;
    Ok(Place { objects: Arc::new(PrefixStore::new(bucket, prefix)), lock: None })
}

#[cfg(not(feature = "s3"))]
fn bucket(location: &str, _rest: &str) -> Result<Place> {
    Err(unusable(
        location,
        "expected a folder: this program knows no buckets; build it with `cargo build --release -p wheelhouse-cli --features s3`",
    ))
}

fn unusable(location: &str, reason: &str) -> Error {
    Error::Location { location: location.to_owned(), reason: reason.to_owned() }
}
