//! Package indexes: what they hold, how they are rendered for installers and for people, and how they change.
//!
//! * [`store`]: objects in a folder or an S3-compatible bucket, with updates that fail instead of overwriting
//!   another writer's.
//! * [`index`]: the entries of an index and the files that installers read, which are a pure function of them.
//! * [`log`]: what happened to an index, append-only, chained and signed; everything else follows from it.
//! * [`page`]: the page of an index for people, of the same entries.
//! * [`promote`]: promotion, taking back, verification, and what users are told.
//! * [`sign`]: keys, signatures and signed envelopes.

pub mod index;
pub mod log;
pub mod page;
pub mod promote;
pub mod sign;
pub mod store;
