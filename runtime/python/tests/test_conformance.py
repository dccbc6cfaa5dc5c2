"""Every committed program through the Python API, against eager PyTorch's results."""

from __future__ import annotations

import conformance
import pytest
from conftest import PROGRAMS

SUITES = sorted(PROGRAMS.glob("*.json")) + sorted((PROGRAMS.parent / "xnnpack").glob("*.json"))


def test_there_are_programs():
    assert len(SUITES) > 60


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_program(runtime, path):
    suite = conformance.Suite(path)
    data = suite.data[0] if suite.data else None
    program = runtime.load_program(suite.program, data_path=data)
    for case in suite.cases:
        # The same method each time, so that its state carries over.
        method = program.load_method(case["method"])
        outputs = method.execute([suite.given(value) for value in case["inputs"]])
        assert len(outputs) == len(case["expected"]), case["name"]
        for value, found in zip(case["expected"], outputs):
            try:
                suite.check(value, found, case)
            except AssertionError as error:
                raise AssertionError(f"{case['name']}: {error}") from error
