"""Python and C++ in one process have one registry and one pool: python mixed.py LIBRARY SUITE FOLDER-OF-THE-WHEEL."""

import ctypes
import os
import sys
from pathlib import Path

from cases import Suite
from executorch_runtime import Runtime, Tensor, portable_lib

THREADS = 3
library, path, package = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
runtime = Runtime.get()
suite = Suite(path)
portable_lib._unsafe_reset_threadpool(THREADS)
cpp = ctypes.CDLL(library)
cpp.mixed_backends.restype = cpp.mixed_operators.restype = cpp.mixed_threads.restype = ctypes.c_size_t

# The registry, asked from both sides.
names = runtime.backend_registry.registered_backend_names
assert cpp.mixed_backends() == len(names), f"C++ sees {cpp.mixed_backends()} backends, Python {names}"
operators = runtime.operator_registry.operator_names
assert cpp.mixed_operators() == len(operators), f"C++ sees {cpp.mixed_operators()} operators, Python {len(operators)}"
print(f"{len(names)} backends and {len(operators)} operators from both sides")
# What C++ registers now, Python sees.
assert cpp.mixed_register() == 0
assert "GateBackend" in runtime.backend_registry.registered_backend_names
assert cpp.mixed_backends() == len(names) + 1
print("a backend that C++ registers is in Python's registry")

# The pool: C++ sees the size that Python asked for, and the other way round.
assert cpp.mixed_threads() == THREADS == portable_lib._threadpool_get_thread_count()
cpp.mixed_spread()
program = suite.load(runtime)
values = suite.run(program)
tasks = len(os.listdir("/proc/self/task"))
assert tasks == THREADS, f"{tasks} threads with a pool of {THREADS}, of which the caller is one"
print(f"{tasks} threads after {values} values and a parallel loop of C++")

# The same program from both sides.
case = suite.cases[0]
(wanted,) = program.load_method(case["method"]).execute([suite.given(value) for value in case["inputs"]])
flat = wanted.tolist()
while flat and isinstance(flat[0], list):
    flat = [x for row in flat for x in row]
shape = case["inputs"][0]["shape"]
given = suite.arrays.values(case["inputs"][0]["tensor"])
found = (ctypes.c_float * (len(flat) + 1))()
wrote = cpp.mixed_run(
    str(suite.program).encode(),
    case["method"].encode(),
    (ctypes.c_int * len(shape))(*shape),
    len(shape),
    (ctypes.c_float * len(given))(*given),
    found,
    len(found),
)
assert wrote == len(flat) and found[:wrote] == flat, f"C++ gives {found[:wrote]}, Python {flat}"
assert isinstance(wanted, Tensor)
print(f"{wrote} equal values from both sides")

with open("/proc/self/maps") as maps:
    mapped = {line.split(maxsplit=5)[5].strip() for line in maps if "libexecutorch" in line}
strangers = [name for name in mapped if not name.startswith(package)]
assert not strangers, f"mapped from elsewhere: {strangers}"
kinds = {os.path.basename(name) for name in mapped}
assert len(kinds) == len(mapped) >= 3, mapped
print(f"{len(mapped)} libraries, each mapped from one file")
