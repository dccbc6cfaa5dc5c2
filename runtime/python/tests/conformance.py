"""The cases of checks/conformance/programs: reading them, laying inputs out, comparing outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from executorch_runtime import Tensor

NAMES = {
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "bool": "bool",
    "c64": "complex64",
    "c128": "complex128",
}


class Suite:
    """One program with its cases and arrays."""

    def __init__(self, path: Path) -> None:
        self.about = json.loads(path.read_text())
        self.folder = path.parent
        self.arrays = np.load(path.with_suffix(".npz"))
        self.program = self.folder / self.about["program"]
        self.data = [self.folder / name for name in self.about["data"]]
        self.cases = self.about["cases"]

    def given(self, value: dict[str, Any]) -> Any:
        """An input as a caller would give it."""
        if "tensor" not in value:
            return scalar(value)
        array = self.arrays[value["tensor"]]
        if value["dtype"] == "bf16":
            # NumPy has no such type; a tensor in another order than the program's is copied into it.
            return Tensor(array.tobytes(), dtype="bfloat16", shape=array.shape)
        order = value.get("dim_order")
        if order is None:
            return array
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))

    def check(self, value: dict[str, Any], found: Any, case: dict[str, Any]) -> None:
        """Compares an output with what PyTorch computed."""
        if "tensor" not in value:
            wanted = scalar(value)
            assert type(found) is type(wanted)
            same = found == wanted or (found != found and wanted != wanted)
            assert same or abs(found - wanted) <= case["atol"] + case["rtol"] * abs(wanted)
            return
        assert str(found.dtype) == NAMES[value["dtype"]]
        assert list(found.shape) == value["shape"]
        if not case.get("compare", True):
            return
        wanted = self.arrays[value["tensor"]]
        if value["dtype"] == "bf16":
            wanted = (wanted.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
            found = np.array(found.tolist(), dtype=np.float64).reshape(value["shape"])
        found = np.asarray(found)
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(found, wanted, rtol=case["rtol"], atol=case["atol"])
        else:
            np.testing.assert_array_equal(found, wanted)


def scalar(value: dict[str, Any]) -> Any:
    """A case's value that is no tensor."""
    if "double" in value:
        return float(value["double"])
    for kind in ("int", "bool", "string"):
        if kind in value:
            return value[kind]
    assert value == {"none": True}, value
    return None
