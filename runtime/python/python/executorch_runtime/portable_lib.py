"""The API of `executorch.extension.pybindings.portable_lib`, without bundled programs and data loaders."""

from executorch_runtime._executorch_runtime import (
    ExecuTorchMethod,
    ExecuTorchModule,
    ExecuTorchProgram,
    MethodMeta,
    TensorInfo,
    _create_profile_block,
    _dump_profile_results,
    _get_operator_names,
    _get_registered_backend_names,
    _is_available,
    _load_for_executorch,
    _load_for_executorch_from_buffer,
    _load_program,
    _load_program_from_buffer,
    _reset_profile_results,
    _threadpool_get_thread_count,
    _unsafe_reset_threadpool,
)
from executorch_runtime._verification import Verification

__all__ = [
    "ExecuTorchMethod",
    "ExecuTorchModule",
    "ExecuTorchProgram",
    "MethodMeta",
    "TensorInfo",
    "Verification",
    "_create_profile_block",
    "_dump_profile_results",
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_program",
    "_load_program_from_buffer",
    "_reset_profile_results",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]
