"""Runs programs exported with ExecuTorch.

    from executorch_runtime import Runtime

    method = Runtime.get().load_program("model.pte").load_method("forward")
    outputs = method.execute([inputs])

NumPy and PyTorch are used if the caller brings them; neither is imported here. `executorch_runtime.portable_lib` has
the API of upstream's bindings, and `executorch-runtime inspect model.pte` explains a program.
"""

from executorch_runtime._errors import (
    ExecuTorchError,
    InvalidArgumentError,
    InvalidProgramError,
    InvalidTypeError,
    MethodNotFoundError,
    MissingFileError,
    NotFoundError,
    NotSupportedError,
    OperatorMissingError,
    OutOfMemoryError,
    OutOfRangeError,
)
from executorch_runtime._executorch_runtime import (
    ExecuTorchMethod,
    ExecuTorchProgram,
    Tensor,
    load_library,
    registration_errors,
)
from executorch_runtime._executorch_runtime import version as _version
from executorch_runtime.runtime import (
    BackendRegistry,
    Method,
    MethodMeta,
    OperatorRegistry,
    Program,
    Runtime,
    TensorInfo,
    Verification,
)

__version__ = _version()

__all__ = [
    "BackendRegistry",
    "ExecuTorchError",
    "ExecuTorchMethod",
    "ExecuTorchProgram",
    "InvalidArgumentError",
    "InvalidProgramError",
    "InvalidTypeError",
    "Method",
    "MethodMeta",
    "MethodNotFoundError",
    "MissingFileError",
    "NotFoundError",
    "NotSupportedError",
    "OperatorMissingError",
    "OperatorRegistry",
    "OutOfMemoryError",
    "OutOfRangeError",
    "Program",
    "Runtime",
    "Tensor",
    "TensorInfo",
    "Verification",
    "load_library",
    "registration_errors",
]
