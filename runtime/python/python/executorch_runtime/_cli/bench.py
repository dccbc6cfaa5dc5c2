"""`executorch-runtime bench`."""

from __future__ import annotations

import json
import resource
import time

from executorch_runtime import Runtime, portable_lib
from executorch_runtime._cli import text
from executorch_runtime._cli.inputs import make

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def command(options: argparse.Namespace) -> int:
    """Times loading, the first run, and runs for some seconds."""
    started = time.perf_counter()
    program = Runtime.get().load_program(options.model, data_path=options.ptd)
    program_s = time.perf_counter() - started
    started = time.perf_counter()
    method = program.load_method(options.method, backend_options=options.backend_options)
    method_s = time.perf_counter() - started
    inputs = make(method, options.inputs)
    started = time.perf_counter()
    method.execute(inputs)
    first_s = time.perf_counter() - started
    method.execute(inputs)
    times: list[float] = []
    end = time.perf_counter() + options.seconds
    while not times or time.perf_counter() < end:
        started = time.perf_counter()
        method.execute(inputs)
        times.append(time.perf_counter() - started)
    times.sort()
    result: dict[str, float] = {
        "load_program_s": program_s,
        "load_method_s": method_s,
        "first_run_s": first_s,
        "runs": len(times),
        "mean_s": sum(times) / len(times),
        "min_s": times[0],
        **{f"p{p}_s": times[min(len(times) - 1, len(times) * p // 100)] for p in (50, 90, 99)},
        "threads": portable_lib._threadpool_get_thread_count(),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if options.json:
        print(json.dumps(result))
        return 0
    for key, value in result.items():
        if key.endswith("_s"):
            print(f"{key[:-2]:14} {text.seconds(value)}")
        elif key.endswith("_bytes"):
            print(f"{key[:-6]:14} {text.size(value)}")
        else:
            print(f"{key:14} {value}")
    return 0
