//! Safe Rust API over the C ABI.
//!
//! [`Program`] is a loaded file, [`Method`] one of its functions, [`Module`] the two together for programs that
//! need no more. The crate links to nothing by itself: whoever makes a binary of it links to
//! `libexecutorch.so.1` and `libexecutorch_threadpool.so.1`.
//!
//! ```no_run
//! use executorch_client::{Layout, Module, TensorView, Value};
//! use executorch_abi::Dtype;
//!
//! # fn main() -> executorch_client::Result<()> {
//! let mut module = Module::open("model.pte")?;
//! let pixels = vec![0u8; 4 * 64];
//! let input = TensorView::new(Layout::contiguous(Dtype::Float32, &[1, 64])?, &pixels)?;
//! let outputs = module.execute("forward", &[Value::Tensor(input)])?.to_owned()?;
//! # drop(outputs);
//! # Ok(())
//! # }
//! ```
//!
//! No raw pointer leaves the crate but through functions that say so; errors carry the runtime's whole message.

mod data_map;
mod device;
mod layout;
pub mod log;
mod meta;
mod method;
mod module;
mod options;
mod program;
pub mod registry;
mod source;
mod tensor;
mod text;
mod value;

pub use data_map::DataMap;
pub use device::Device;
pub use executorch_abi::{Dtype, Error, Result};
pub use layout::Layout;
pub use meta::{BufferInfo, DelegateInfo, Instruction, MethodMeta, TensorInfo};
pub use method::{Method, Outputs};
pub use module::Module;
pub use options::{BackendOptions, MethodOptions, OptionValue};
pub use program::{Program, ProgramInfo};
pub use source::{LoadMode, Source};
pub use tensor::{Storage, Tensor, TensorView};
pub use value::{Kind, Value};
