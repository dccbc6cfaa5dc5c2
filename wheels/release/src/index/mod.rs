//! What an index holds. Everything that installers and people read is a pure function of it.
//!
//! | module | job |
//! |---|---|
//! | `entry` | the types of `entries.json` |
//! | `catalogue` | changes of what an index holds, and the rules that it keeps |
//! | `name`, `wheel` | names of wheels; what their metadata says |
//! | `simple`, `pages` | entries to files |
//! | `live`, `check` | the files in a store: changed, rendered, compared |

mod catalogue;
mod check;
mod entry;
mod live;
mod name;
mod pages;
mod simple;
mod wheel;

pub use catalogue::now;
pub use check::Findings;
pub use entry::{Action, Catalogue, Change, Entry, GateResult, SCHEMA};
pub use live::{Index, Rendered};
pub(crate) use name::url;
pub use name::{WheelName, normalize};
pub use pages::{Page, render};
pub use wheel::Wheel;

#[cfg(test)]
mod tests;
