//! Wheels: what goes in, how they are packed, and the audit that every file passes on its way.
//!
//! Each module is one packaging format or one question and knows nothing of the others; [`pack`] is the only place
//! where they meet.

pub mod archive;
pub mod audit;
pub mod component;
pub mod contents;
pub mod digest;
pub mod elf;
pub mod metadata;
pub mod pack;
pub mod provenance;
pub mod record;
pub mod row;
pub mod tag;
pub mod template;
pub mod version;
