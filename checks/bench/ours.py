"""Bench worker on executorch_runtime (see worker.py). Usage: ours.py THREADS

Takes its inputs through `__array_interface__`, so that neither numpy nor torch need be installed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

import worker


class Array:
    """Memory with a shape, as the array interface protocol describes it."""

    def __init__(self, kind: str, shape: tuple[int, ...], content: bytes) -> None:
        self.buffer = ctypes.create_string_buffer(content, max(len(content), 1))
        self.__array_interface__ = {
            "version": 3,
            "typestr": kind,
            "shape": tuple(shape),
            "data": (ctypes.addressof(self.buffer), False),
        }


def main() -> None:
    threads = int(sys.argv[1])
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    before = worker.memory()["now_kib"]
    started = time.perf_counter()
    from executorch_runtime import Runtime

    runtime = Runtime.get()
    import_s = time.perf_counter() - started
    import_kib = worker.memory()["now_kib"] - before

    from executorch_runtime import portable_lib

    portable_lib._unsafe_reset_threadpool(threads)

    def load(program: str, method: str, data: str | None = None):
        return runtime.load_program(program, data_path=data).load_method(method).execute

    worker.serve({"import_s": import_s, "import_kib": import_kib}, Array, load)


if __name__ == "__main__":
    main()
