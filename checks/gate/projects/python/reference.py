"""Runs every program of a folder and compares with PyTorch's results: python reference.py MODELS."""

import sys
from pathlib import Path

from cases import suites
from executorch_runtime import Runtime

runtime = Runtime.get()
found = suites(Path(sys.argv[1]))
assert len(found) >= 5, f"{len(found)} programs in {sys.argv[1]}"
delegates = set()
for suite in found:
    program = suite.load(runtime)
    values = suite.run(program)
    if b"XnnpackBackend" in suite.program.read_bytes():
        delegates.add(suite.name)
    print(f"{suite.name}: {len(suite.cases)} cases, {values} values")
assert delegates, "no program has a part for XNNPACK"
assert not [name for name in ("numpy", "torch") if name in sys.modules]
