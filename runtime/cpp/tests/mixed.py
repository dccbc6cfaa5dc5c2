"""Runs one program from Python and from C++ in one process: the same answers, one registry, and no more threads than one pool has.

    python mixed.py LIBRARY PROGRAM
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from executorch_runtime import Runtime, Tensor, portable_lib

THREADS = 3


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def mapped(name: str) -> set[str]:
    return {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if name in line}


def main() -> None:
    library, program = sys.argv[1:]
    portable_lib._unsafe_reset_threadpool(THREADS)
    runtime = Runtime.get()
    assert threads() == 1, f"{threads()} threads before any work"
    loaded = runtime.load_program(program)
    run = ctypes.CDLL(library).mixed_run
    ran = 0
    for name in sorted(loaded.method_names):
        meta = loaded.metadata(name)
        if meta.num_inputs() != 1 or meta.num_outputs() != 1 or meta.input_tensor_meta(0).dtype() != 6:
            continue
        sizes = list(meta.input_tensor_meta(0).sizes())
        count = 1
        for size in sizes:
            count *= size
        (answer,) = loaded.load_method(name).execute([Tensor(b"\0\0\x80\x3f" * count, dtype="float32", shape=sizes)])
        expected = flat(answer.tolist())
        found = (ctypes.c_float * (len(expected) + 1))()
        wrote = run(program.encode(), name.encode(), (ctypes.c_int * len(sizes))(*sizes), len(sizes), found, len(found))
        assert wrote == len(expected), f"{name}: C++ gave {wrote} elements, Python {len(expected)}"
        assert found[:wrote] == expected, f"{name}: Python and C++ disagree"
        ran += 1
    assert ran > 3, f"only {ran} methods have one f32 tensor in and one out"
    # The caller is one of the pool's threads.
    assert threads() == THREADS, f"{threads()} threads with a pool of {THREADS}"
    for name in ("libexecutorch.so", "libexecutorch_threadpool.so", "libexecutorch_backend_xnnpack.so"):
        assert len(mapped(name)) == 1, f"{name} is mapped from {mapped(name)}"
    names = runtime.backend_registry.registered_backend_names
    assert names.count("XnnpackBackend") == 1, names
    print(f"{ran} methods, {threads()} threads")


def flat(values: list) -> list[float]:
    return [x for value in values for x in flat(value)] if values and isinstance(values[0], list) else values


if __name__ == "__main__":
    main()
