//! Buckets of a real server for tests, whose requests go over the wire.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../tests/support/bucket.rs"]
mod server;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;

use self::server::Server;
use super::location;

/// An empty folder of a bucket, for this caller alone.
pub(crate) fn empty() -> Arc<dyn ObjectStore> {
    // One server for the whole process.
    static SERVER: OnceLock<Server> = OnceLock::new();
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let endpoint = &SERVER.get_or_init(|| Server::start(None)).endpoint;
    let folder = format!("{}/{}", server::BUCKET, FOLDERS.fetch_add(1, Ordering::Relaxed));
    let server = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_region(server::REGION)
        .with_access_key_id(server::ACCESS)
        .with_secret_access_key(server::ACCESS);
    location::bucket_of(server, &format!("s3://{folder}"), &folder).unwrap().objects
}
