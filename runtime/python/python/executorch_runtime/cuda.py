"""CUDA from Python: the stream on which calls of the current thread put their work."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
from pathlib import Path
from typing import Any

from ._errors import InvalidArgumentError, InvalidTypeError, NotFoundError

__all__ = ["stream"]

_NAME = "libexecutorch_extension_cuda.so.1"


@functools.cache
def _library() -> ctypes.CDLL:
    """The library that keeps the choices of all threads: the process's, or the one of this wheel."""
    try:
        library = ctypes.CDLL(_NAME, mode=os.RTLD_NOLOAD)
    except OSError:
        try:
            library = ctypes.CDLL(str(Path(__file__).parent / "lib" / _NAME))
        except OSError as error:
            message = (
                f"cannot choose a CUDA stream: {error}. A wheel with CUDA has this library: install executorch-runtime"
                " from the index cu126 or cu130 (docs/cuda.md)"
            )
            raise NotFoundError(message, 0x20, "NotFound") from None
    library.et_caller_stream_get.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
    library.et_caller_stream_get.restype = ctypes.c_bool
    library.et_caller_stream_set.argtypes = [ctypes.c_void_p]
    library.et_caller_stream_set.restype = None
    library.et_caller_stream_clear.argtypes = []
    library.et_caller_stream_clear.restype = None
    return library


def _handle(stream: Any) -> int:
    """The address of a `cudaStream_t`; 0 is CUDA's default stream."""
    if stream is None:
        return 0
    for name in ("cuda_stream", "ptr", "handle"):  # of PyTorch; of CuPy; of numba and others
        value = getattr(stream, name, None)
        if value is not None:
            break
    else:
        protocol = getattr(stream, "__cuda_stream__", None)  # of cuda.core: a version and the address
        value = stream if protocol is None else (protocol() if callable(protocol) else protocol)[1]
    value = getattr(value, "value", value)
    try:
        address = operator.index(value)
    except TypeError:
        message = (
            "expected a CUDA stream of PyTorch or CuPy, an object with __cuda_stream__, or the address of a cudaStream_t;"
            f" found {type(stream).__name__}"
        )
        raise InvalidTypeError(message, 0x13, "InvalidType") from None
    if not 0 <= address < 1 << 64:
        raise InvalidArgumentError(f"{address} is no address of a cudaStream_t", 0x12, "InvalidArgument")
    return address


class stream:  # noqa: N801, as torch.cuda.stream
    """Within `with stream(s):`, calls of the current thread put their work on `s`, and may return before it is done.

    `s` is a stream of PyTorch (`torch.cuda.Stream`) or CuPy, an object with `__cuda_stream__`, the address of a
    `cudaStream_t`, or None for CUDA's default stream. It must live until the block is left, which brings the choice
    before it back; blocks may be nested. Other threads are not concerned. Raises NotFoundError if the installed wheel
    has no CUDA, and InvalidTypeError for what is no stream.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._address = _handle(stream)
        self._before: list[tuple[bool, int | None]] = []
        self._library = _library()

    def __enter__(self) -> stream:
        before = ctypes.c_void_p()
        chosen = self._library.et_caller_stream_get(ctypes.byref(before))
        self._before.append((chosen, before.value))
        self._library.et_caller_stream_set(self._address)
        return self

    def __exit__(self, *failure: object) -> None:
        chosen, before = self._before.pop()
        if chosen:
            self._library.et_caller_stream_set(before)
        else:
            self._library.et_caller_stream_clear()
