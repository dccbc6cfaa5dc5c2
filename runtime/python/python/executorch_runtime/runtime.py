"""The API of `executorch.runtime`."""

from __future__ import annotations

from executorch_runtime import _executorch_runtime as _native
from executorch_runtime._executorch_runtime import Method, MethodMeta, Program, TensorInfo
from executorch_runtime._verification import Verification

# `typing` is imported by type checkers only: it would be most of the import time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import BinaryIO

__all__ = [
    "BackendRegistry",
    "Method",
    "MethodMeta",
    "OperatorRegistry",
    "Program",
    "Runtime",
    "TensorInfo",
    "Verification",
]


class BackendRegistry:
    """The backends of the process."""

    @property
    def registered_backend_names(self) -> list[str]:
        """The ids of all registered backends."""
        return _native._get_registered_backend_names()

    def is_available(self, backend_name: str) -> bool:
        """Whether the backend is registered and can run on this machine."""
        return _native._is_available(backend_name)


class OperatorRegistry:
    """The operators of the process."""

    @property
    def operator_names(self) -> set[str]:
        """The names of all registered operators."""
        return set(_native._get_operator_names())


class Runtime:
    """The runtime of the process: `Runtime.get()`. Any thread may use it."""

    _instance: Runtime | None = None

    def __init__(self) -> None:
        self.backend_registry = BackendRegistry()
        self.operator_registry = OperatorRegistry()

    @staticmethod
    def get() -> Runtime:
        """The one instance."""
        if Runtime._instance is None:
            Runtime._instance = Runtime()
            # Now, as upstream's import does, and not while the first program is loaded.
            _native._load_components()
        return Runtime._instance

    def load_program(
        self,
        data: bytes | bytearray | memoryview | BinaryIO | str | os.PathLike[str],
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: str | os.PathLike[str] | None = None,
    ) -> Program:
        """Loads and verifies a program.

        `data` is a path (str or os.PathLike; the file is mapped), bytes (used in place), another object with bytes
        (copied), or a file that is open for reading bytes. `data_path` is the path of a `.ptd` file that the program
        keeps its weights in. `verification` is accepted as upstream's API has it; every program is verified whole.
        """
        return _native.load_program(
            data,
            verification=verification,
            enable_etdump=enable_etdump,
            debug_buffer_size=debug_buffer_size,
            data_path=data_path,
        )
