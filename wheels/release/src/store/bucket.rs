//! Buckets of a real server for tests, whose requests go over the wire.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../tests/support/bucket.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;

use super::location;

/// An empty folder of a bucket, for this caller alone.
pub(crate) fn empty() -> Arc<dyn ObjectStore> {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let folder = format!("{}/{}", server::BUCKET, FOLDERS.fetch_add(1, Ordering::Relaxed));
    let server = AmazonS3Builder::new()
        .with_endpoint(server::endpoint())
        .with_allow_http(true)
        .with_region(server::REGION)
        .with_access_key_id(server::ACCESS)
        .with_secret_access_key(server::ACCESS);
    location::bucket_of(server, &format!("s3://{folder}"), &folder).unwrap().objects
}
