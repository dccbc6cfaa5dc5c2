//! What a delegate is written with: a safe trait, [`Delegate`], and one macro, [`export_delegate!`], that registers it
//! with the runtime when the library that holds it is loaded.
//!
//! A delegate's library imports the runtime's functions and defines none ("coreless"): whoever loads it has
//! `libexecutorch.so.1` already, from the wheel, and both share its one registry.
//!
//! ```ignore
//! struct Gain;
//!
//! impl Delegate for Gain {
//!     type Handle<'m> = f32;
//!     const NAME: &'static CStr = c"GainBackend";
//!
//!     fn init<'m>(&self, context: &InitContext<'m>, _: Payload<'m>, _: CompileSpecs<'_>) -> Result<f32> {
//!         Ok(context.options().int("gain")?.unwrap_or(1) as f32)
//!     }
//!
//!     fn execute(&self, gain: &mut f32, _: &ExecuteContext, arguments: Arguments<'_>) -> Result<()> {
//!         let (inputs, mut outputs) = arguments.split(1, 1)?;
//!         let x = inputs.tensor(0)?;
//!         let mut y = outputs.tensor(0)?;
//!         y.resize(x.sizes())?;
//!         for (y, x) in y.data::<f32>()?.iter_mut().zip(x.data::<f32>()?) {
//!             *y = x * *gain;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! export_delegate!(Gain = Gain);
//! ```
//!
//! **Lifetimes.** `'m` stands for the life of the method that is loaded. Whatever carries it (the payload's bytes, named
//! data, memory of the method's allocator) may be kept in the handle and nowhere else; the compiler sees to that.
//!
//! **Threads.** The delegate itself is shared by all threads. A handle is used by one thread at a time.
//!
//! **Errors.** An [`Error`] arrives with its code and message where the method was loaded or run, with the method, the
//! instruction and the arguments' shapes added by the runtime. A panic is caught and becomes `ET_ERROR_INTERNAL`, unless
//! the library is built with `panic = "abort"`.

mod arguments;
mod buffer;
mod context;
mod delegate;
mod description;
pub mod export;
mod named_data;
mod options;
mod tracer;

pub use arguments::{Arguments, Inputs, Output, Outputs};
pub use buffer::{Buffer, Payload};
pub use context::{CompileSpecs, ExecuteContext, InitContext};
pub use delegate::Delegate;
pub use description::{Description, Node, Role, Value};
pub use named_data::{NamedData, TensorLayout};
pub use options::{OptionValue, Options};
pub use tracer::{Event, Tracer};

pub use executorch_abi as abi;
pub use executorch_abi::{Args, Dtype, Element, Error, Result, Scalar, TensorMut, TensorRef};
