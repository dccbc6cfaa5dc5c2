"""Importing brings no other package, and runs in a small process."""

import sys
import time

begun = time.perf_counter()
before = set(sys.modules)
import executorch_runtime  # noqa: E402
from executorch_runtime import Runtime, portable_lib  # noqa: E402

runtime = Runtime.get()
ms = (time.perf_counter() - begun) * 1e3
names = runtime.operator_registry.operator_names
heavy = [n for n in ("numpy", "torch", "executorch", "typing", "importlib.metadata") if n in sys.modules and n not in before]
assert not heavy, f"importing the package imports {heavy}"
assert len(names) > 100, f"{len(names)} operators"
assert portable_lib._get_operator_names()
assert executorch_runtime.registration_errors() == [], executorch_runtime.registration_errors()
with open("/proc/self/status") as status:
    kib = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
assert kib < 64_000, f"the process takes {kib} KiB"
print(f"{executorch_runtime.__version__}: {ms:.1f} ms, {kib} KiB, {len(names)} operators")
print("backends: " + " ".join(sorted(runtime.backend_registry.registered_backend_names)))
