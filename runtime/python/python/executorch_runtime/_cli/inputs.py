"""The inputs of a call: from a file, or made to fit the method."""

from __future__ import annotations

from executorch_runtime import InvalidArgumentError, Method
from executorch_runtime import _executorch_runtime as _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def numpy_or_explain(what: str) -> Any:
    """NumPy, or an error that says what it is needed for."""
    try:
        import numpy
    except ImportError:
        raise InvalidArgumentError(
            f"{what} needs NumPy, which is not installed: pip install numpy", 0x12, "InvalidArgument"
        ) from None
    return numpy


def make(method: Method, source: str) -> list[Any]:
    """Inputs for `method` from an `.npz` file (arrays in the order of their numbers, or of the file) or a fill."""
    if source in ("zeros", "ones", "random"):
        return _native.example_inputs(method, source)
    archive = numpy_or_explain(f"reading {source}").load(source)
    if not hasattr(archive, "files"):
        return [archive]
    names = [name for name in archive.files if name.startswith("input_")] or list(archive.files)
    numbered = all(name.rpartition("_")[2].isdigit() for name in names)
    if numbered:
        names.sort(key=lambda name: int(name.rpartition("_")[2]))
    return [archive[name] for name in names]
