"""Weights from a .ptd, and what is said when they are missing or damaged: python external.py MODELS WORK."""

import sys
from pathlib import Path

from cases import suites
from executorch_runtime import Runtime

runtime = Runtime.get()
found = [suite for suite in suites(Path(sys.argv[1])) if suite.data]
assert found, "no program has external weights"
for suite in found:
    print(f"{suite.name} with {suite.data[0].name}: {suite.run(suite.load(runtime))} values")
    names = runtime.load_program(suite.program).method_names
    try:
        for name in names:
            runtime.load_program(suite.program).load_method(name)
    except RuntimeError as error:
        print(f"without its weights: {error}")
    else:
        raise AssertionError(f"{suite.name} loads without its weights")
    damaged = Path(sys.argv[2]) / "damaged.ptd"
    damaged.write_bytes(suite.data[0].read_bytes()[:40])
    try:
        for name in names:
            runtime.load_program(suite.program, data_path=damaged).load_method(name)
    except (RuntimeError, ValueError) as error:
        print(f"with damaged weights: {error}")
    else:
        raise AssertionError(f"{suite.name} loads with damaged weights")
