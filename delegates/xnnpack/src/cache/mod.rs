//! Packed weights: once in the process and, if there is a folder for them, once on the machine.
//!
//! Kernels read weights in an order of their own, and bringing them into it is most of the work of loading a graph. A
//! [`Session`] stands for one graph that is being prepared. Both executors ask it for weights by a [`Key`]: how they
//! are packed, and the constants that they are packed from. What is found is shared, and freed with its last user.
//!
//! | file | what it does |
//! |---|---|
//! | `recipe.rs` | writes down what packed weights depend on |
//! | `constants.rs`, `origin.rs`, `state.rs` | identify constants: by the mapped file that they lie in, or by their bytes |
//! | `machine.rs` | identifies the CPU and the code |
//! | `table.rs` | what is packed in the process; who packs and who waits |
//! | `disk/` | the folder: format, checks, writing, limits |
//! | `saving.rs` | when it is written to |
//! | `provider.rs` | all this as the XNNPACK library asks for it |

mod constants;
mod digest;
mod disk;
mod log;
mod machine;
mod memory;
mod origin;
mod provider;
mod recipe;
mod saving;
mod session;
mod settings;
mod state;
mod table;

#[cfg(test)]
mod tests;

pub use memory::{ALIGNMENT, Packed};
pub use provider::Provider;
pub use recipe::Key;
pub use saving::{Kept, save_all};
pub use session::Session;
pub use settings::{ENABLED_OPTION, FOLDER_OPTION, FOLDER_VARIABLE, SAVE_OPTION, Settings};
