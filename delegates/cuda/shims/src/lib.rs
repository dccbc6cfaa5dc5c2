//! The functions that libraries compiled by AOTInductor import (`aoti_torch_…`): `libaoti_cuda_shims.so.1`.
//!
//! A compiled model sees tensors only through these functions, so the tensor behind a handle is this crate's own
//! ([`tensor::Tensor`]): sizes, strides, an offset, and a shared storage on the host or on a CUDA device. Memory on a device is
//! allocated, copied and freed on the device's current stream, one for each thread ([`stream`]); this library holds that state
//! once for the process.
//!
//! **Errors.** Functions return upstream's codes (0 is success) and leave what they would have written as it was; why is kept as
//! the thread's last error (`et_last_error_message`), since a model turns every code into an exception without a reason. Null
//! where a tensor or a place for a result is needed is `InvalidArgument`. A panic is caught and told as `Internal`.
//!
//! **Threads.** Handles may be passed between threads, and used by one at a time. Guards belong to the thread that made them.
//!
//! The modules below [`symbols`] hold the exported functions, one for each kind.

mod boundary;
mod copy;
mod guard;
mod operand;
mod scalar;
pub mod stream;
pub mod symbols;
pub mod tensor;
mod throw;
