"""Bench worker on upstream's runtime (see worker.py). Usage: upstream.py THREADS"""

from __future__ import annotations

import os
import sys
import time

import worker


def main() -> None:
    threads = int(sys.argv[1])
    # The runtime logs to stdout, which carries the protocol: give it a copy and point 1 at stderr.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    before = worker.memory()["now_kib"]
    started = time.perf_counter()
    from executorch.runtime import Runtime

    runtime = Runtime.get()
    import_s = time.perf_counter() - started
    import_kib = worker.memory()["now_kib"] - before

    import torch
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(threads)
    types = {"<f4": torch.float32, "<f8": torch.float64, "<i8": torch.int64, "<i4": torch.int32, "<f2": torch.float16,
             "|b1": torch.bool, "|u1": torch.uint8, "|i1": torch.int8}  # fmt: skip

    def given(kind: str, shape: tuple[int, ...], content: bytes):
        return torch.frombuffer(bytearray(content), dtype=types[kind]).reshape(shape)

    def load(program: str, method: str, data: str | None = None):
        return runtime.load_program(program, data_path=data).load_method(method).execute

    worker.serve({"import_s": import_s, "import_kib": import_kib}, given, load)


if __name__ == "__main__":
    main()
