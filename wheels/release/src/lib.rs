//! Package indexes: what they hold, how they are rendered for installers and for people, and how they change.
//!
//! * [`sign`]: keys, signatures and signed envelopes.

pub mod sign;
