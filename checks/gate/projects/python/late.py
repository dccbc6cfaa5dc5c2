"""A delegate that the process opens late, without the package's help, is in the same registry: python late.py LIBRARY SUITE."""

import ctypes
import sys
from pathlib import Path

from cases import Suite
from executorch_runtime import Runtime

runtime = Runtime.get()
suite = Suite(Path(sys.argv[2]))
before = runtime.backend_registry.registered_backend_names
assert "DemoBackend" not in before
ctypes.CDLL(sys.argv[1])
after = runtime.backend_registry.registered_backend_names
assert sorted(after) == sorted([*before, "DemoBackend"]), after
print(f"{' '.join(sorted(before))}, then {' '.join(sorted(after))}; {suite.run(suite.load(runtime))} values")
