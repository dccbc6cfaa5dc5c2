"""NumPy in, NumPy out: python with_numpy.py MODELS."""

import sys
from pathlib import Path

import numpy as np
from cases import suites
from executorch_runtime import Runtime

runtime = Runtime.get()
compared = 0
for suite in suites(Path(sys.argv[1])):
    arrays = np.load(suite.program.with_suffix(".npz"))
    methods = {}
    program = suite.load(runtime)
    for case in suite.cases:
        values = case["inputs"] + case["expected"]
        if not all(value.get("dtype") == "f32" for value in values) or not case.get("compare", True):
            continue
        method = methods.setdefault(case["method"], program.load_method(case["method"]))
        inputs = [arrays[value["tensor"]] for value in case["inputs"]]
        for array in inputs:
            array.flags.writeable = False
        for value, found in zip(case["expected"], method.execute(inputs)):
            assert isinstance(found, np.ndarray), f"{suite.name}: {type(found)} came back"
            np.testing.assert_allclose(found, arrays[value["tensor"]], rtol=case["rtol"], atol=case["atol"])
            compared += found.size
assert compared > 100, f"{compared} values"
print(f"NumPy {np.__version__}: {compared} values")
