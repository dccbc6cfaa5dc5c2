//! Failures of CUDA as the runtime's errors.

use executorch_abi::Error;
use executorch_abi::error::*;
use executorch_cuda_driver as driver;

/// What a failure of CUDA is to the runtime's callers. Upstream's codes where it has them.
pub fn cuda(error: driver::Error) -> Error {
    let code = match &error {
        error if error.is_out_of_memory() => ET_ERROR_MEMORY_ALLOCATION_FAILED,
        error if error.is_unavailable() => ET_ERROR_NOT_FOUND,
        driver::Error::Argument(_) => ET_ERROR_INVALID_ARGUMENT,
        _ => ET_ERROR_INTERNAL,
    };
    Error::new(code, error.to_string())
}
