"""Runs the program cuda_gate: python cuda_program.py SUITE fakes|gpu. With `fakes` the stand-in for a driver must be there, and is
asked what is left at the end."""

import ctypes
import gc
import sys
from pathlib import Path

from cases import Suite
from executorch_runtime import Runtime


def resident(program, suite: Suite, cases: list) -> int:
    """Runs a method whose inputs and outputs lie on the device; returns how many values were compared."""
    method, compared = program.load_method("resident"), 0
    for case in cases:
        outputs = method.execute([suite.given(value).to("cuda") for value in case["inputs"]])
        assert len(outputs) == len(case["expected"])
        for value, found in zip(case["expected"], outputs):
            assert found.device == "cuda:0", found.device
            compared += suite.compare(value, found.cpu(), case)
    return compared


def run(path: Path) -> None:
    suite = Suite(path)
    program = suite.load(Runtime.get())
    on_device = [case for case in suite.cases if case["method"] == "resident"]
    suite.cases = [case for case in suite.cases if case["method"] != "resident"]
    for _ in range(3):
        print(f"{suite.name}: {suite.run(program)} values, memory of the host at the boundary")
        print(f"{suite.name}: {resident(program, suite, on_device)} values, memory of the device at the boundary")


run(Path(sys.argv[1]))
gc.collect()
driver = ctypes.CDLL("libcuda.so.1")
is_stand_in = hasattr(driver, "fake_live")
assert is_stand_in == (sys.argv[2] == "fakes"), f"{sys.argv[2]}: the driver is {'a' if is_stand_in else 'no'} stand-in"
if is_stand_in:
    driver.fake_live.restype = ctypes.c_uint64
    left = {kind: driver.fake_live(kind.encode()) for kind in ("blocks", "streams", "events", "graphs", "executables", "pending", "faults")}
    assert not any(left.values()), f"left on the device: {left}"
    print(f"left on the device: {left}")
