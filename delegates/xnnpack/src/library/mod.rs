//! Runs of nodes on the XNNPACK library.
//!
//! [`segment`] turns a segment of the plan into one of the library's runtimes and drives it: [`values`] and [`nodes`]
//! describe the parts of the graph to the library, [`raw`] owns its objects, [`workspace`] shares scratch memory between
//! runtimes, [`status`] turns its codes into errors.

pub mod nodes;
pub mod raw;
pub mod segment;
pub mod status;
pub mod threads;
pub mod values;
pub mod workspace;

pub use raw::initialize;
pub use segment::{Context, Segment};
pub use threads::Threads;
pub use workspace::{Access, Sharing, Workspace};
