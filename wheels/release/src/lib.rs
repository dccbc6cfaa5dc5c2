//! Package indexes: what they hold, how they are rendered for installers and for people, and how they change.
//!
//! * [`store`]: objects in a folder or an S3-compatible bucket, with updates that fail instead of overwriting
//!   another writer's.
//! * [`index`]: the entries of an index and the files that installers read, which are a pure function of them.
//! * [`page`]: the page of an index for people, of the same entries.
//! * [`sign`]: keys, signatures and signed envelopes.

pub mod index;
pub mod page;
pub mod sign;
pub mod store;
