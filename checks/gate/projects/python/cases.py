"""Programs with cases, as checks/conformance/README.md describes them, without NumPy."""

from __future__ import annotations

import ast
import json
import math
import struct
import zipfile
from pathlib import Path

from executorch_runtime import Tensor

# Names of the runtime, and letters of `struct`.
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
}
LETTERS = {"u1": "B", "i1": "b", "i2": "h", "u2": "H", "i4": "i", "i8": "q", "f2": "e", "f4": "f", "f8": "d", "b1": "?"}


class Arrays:
    """The arrays of an .npz file: their bytes, and their values in row-major order."""

    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path)

    def read(self, name: str) -> tuple[str, tuple[int, ...], bytes]:
        data = self.archive.read(name + ".npy")
        assert data[:6] == b"\x93NUMPY", f"{name}: no array"
        (length,) = struct.unpack_from("<H" if data[6] == 1 else "<I", data, 8)
        start = 10 if data[6] == 1 else 12
        header = ast.literal_eval(data[start : start + length].decode())
        rank = len(header["shape"])
        assert rank < 2 or not header["fortran_order"], f"{name}: not in row-major order"
        assert header["descr"][0] in "<|", f"{name}: {header['descr']} is not little-endian"
        return header["descr"][1:], header["shape"], data[start + length :]

    def values(self, name: str) -> list:
        kind, _, data = self.read(name)
        return list(struct.unpack(f"<{len(data) // int(kind[1:])}{LETTERS[kind]}", data))


class Suite:
    """One program with its cases."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        about = json.loads(path.read_text())
        self.program = path.parent / about["program"]
        self.data = [path.parent / name for name in about["data"]]
        self.cases = about["cases"]
        self.arrays = Arrays(path.with_suffix(".npz"))

    def load(self, runtime, data=None):
        """Loads the program with its external weights."""
        return runtime.load_program(data or self.program, data_path=self.data[0] if self.data else None)

    def run(self, program) -> int:
        """Runs every case and compares; returns how many values were compared."""
        methods, compared = {}, 0
        for case in self.cases:
            name = case["method"]
            method = methods.setdefault(name, program.load_method(name))
            outputs = method.execute([self.given(value) for value in case["inputs"]])
            assert len(outputs) == len(case["expected"]), f"{self.name} {case['name']}: {len(outputs)} outputs"
            for value, found in zip(case["expected"], outputs):
                compared += self.compare(value, found, case)
        return compared

    def given(self, value: dict):
        """An input as a caller would give it."""
        if "tensor" in value:
            kind, shape, data = self.arrays.read(value["tensor"])
            return Tensor(data, dtype=NAMES[value["dtype"]], shape=shape)
        return scalar(value)

    def compare(self, value: dict, found, case: dict) -> int:
        """Compares an output with PyTorch's."""
        what = f"{self.name} {case['name']}"
        if "tensor" not in value:
            wanted, got = [scalar(value)], [found]
        else:
            assert found.dtype == NAMES[value["dtype"]], f"{what}: {found.dtype}"
            assert list(found.shape) == value["shape"], f"{what}: shape {found.shape}, expected {value['shape']}"
            if not case.get("compare", True):
                return 0
            wanted = self.arrays.values(value["tensor"])
            if value["dtype"] == "bf16":
                wanted = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in wanted]
            got = flat(found.tolist())
        assert len(got) == len(wanted), f"{what}: {len(got)} values, expected {len(wanted)}"
        for place, (have, want) in enumerate(zip(got, wanted)):
            good = close(have, want, case["rtol"], case["atol"])
            assert good, f"{what}: value {place} is {have!r}, PyTorch's is {want!r}"
        return len(wanted)


def close(have, want, rtol: float, atol: float) -> bool:
    if isinstance(want, float) and isinstance(have, float):
        if math.isnan(want) or math.isinf(want):
            return have == want or (math.isnan(want) and math.isnan(have))
        return abs(have - want) <= atol + rtol * abs(want)
    return type(have) is type(want) and have == want


def flat(values) -> list:
    return [x for value in values for x in flat(value)] if isinstance(values, list) else [values]


def scalar(value: dict):
    """A case's value that is no tensor."""
    if "double" in value:
        return float(value["double"])
    for kind in ("int", "bool", "string"):
        if kind in value:
            return value[kind]
    assert value == {"none": True}, value
    return None


def suites(folder: Path) -> list[Suite]:
    """All programs of a folder that have cases."""
    return [Suite(path) for path in sorted(folder.glob("*.json"))]
