"""A delegate's wheel is found by its entry point and runs its part of a program: python delegate.py SUITE SITE."""

import sys
from pathlib import Path

sys.path.append(sys.argv[2])
from cases import Suite  # noqa: E402
from executorch_runtime import Runtime  # noqa: E402

runtime = Runtime.get()
suite = Suite(Path(sys.argv[1]))
values = suite.run(suite.load(runtime))
names = runtime.backend_registry.registered_backend_names
assert names.count("DemoBackend") == 1 and runtime.backend_registry.is_available("DemoBackend"), names
print(f"{suite.name}: {values} values, backends {' '.join(sorted(names))}")
with open("/proc/self/maps") as maps:
    mapped = {line.split(maxsplit=5)[5].strip() for line in maps if "/libexecutorch.so" in line}
assert len(mapped) == 1, mapped
print(f"one runtime: {mapped.pop()}")
