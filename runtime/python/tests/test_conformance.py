"""Every committed program through the Python API, against eager PyTorch's results."""

from __future__ import annotations

import conformance
import pytest
from conftest import PROGRAMS

# Programs that call what is not there yet. Shrinks until it is empty.
LACKING: set[str] = set()

NAMES = sorted(path.stem for path in PROGRAMS.glob("*.json"))


def test_there_are_programs():
    assert len(NAMES) > 50
    assert LACKING <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_program(runtime, name):
    if name in LACKING:
        pytest.skip("calls operators that are not there yet")
    suite = conformance.Suite(PROGRAMS / f"{name}.json")
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
