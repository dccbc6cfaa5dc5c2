//! Where a wheel comes from: what is linked into it, under which licences, and what it was built from.
//!
//! * [`crates`]: the crates that cargo links into a component.
//! * [`parts`]: what else is linked in: C libraries, and what the compilers bring along.
//! * [`license`]: which licence each of them is used under, and the texts.
//! * [`sbom`]: all of it as a CycloneDX document, which the wheel carries.
//! * [`statement`]: the in-toto statement beside a wheel: its digest and the sources and tools that it was built from.
//! * [`inventory`]: puts the first four together for a row.

pub mod crates;
pub mod inventory;
pub mod license;
pub mod parts;
pub mod sbom;
pub mod statement;
