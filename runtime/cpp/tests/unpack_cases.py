"""Writes the conformance cases in a form that C++ reads without a library.

    python unpack_cases.py PROGRAMS OUT

OUT/NAME.cases holds words: `data FILE`; `case NAME METHOD RTOL ATOL COMPARE`, then its inputs, `expect`, its expected
values, `end`. A value is `tensor DTYPE RANK SIZES… DIM_ORDER… OFFSET BYTES` (into OUT/NAME.bin), `int N`, `double X`,
`bool 0|1`, `string HEX` or `none`.
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from pathlib import Path


def array(archive: zipfile.ZipFile, key: str) -> bytes:
    """The elements of a row-major array, as the .npy format lays them out."""
    content = archive.read(f"{key}.npy")
    wide = content[6] > 1
    length = int.from_bytes(content[8 : 12 if wide else 10], "little")
    start = (12 if wide else 10) + length
    header = ast.literal_eval(content[start - length : start].decode())
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise SystemExit(f"{key}: expected row-major order")
    return content[start:]


def reorder(data: bytes, shape: list[int], order: list[int]) -> bytes:
    """The elements of a row-major array in another order of the dimensions."""
    count = 1
    for size in shape:
        count *= size
    if count == 0 or order == sorted(order):
        return data
    width = len(data) // count
    strides = [width] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    offsets = [0]
    for dim in order:
        offsets = [base + i * strides[dim] for base in offsets for i in range(shape[dim])]
    return b"".join(data[at : at + width] for at in offsets)


def words(value: dict, archive: zipfile.ZipFile, blob: bytearray) -> str:
    if "tensor" in value:
        shape = value["shape"]
        order = value.get("dim_order", list(range(len(shape))))
        data = reorder(array(archive, value["tensor"]), shape, order)
        blob.extend(bytes(-len(blob) % 64))
        offset = len(blob)
        blob.extend(data)
        return " ".join(map(str, ["tensor", value["dtype"], len(shape), *shape, *order, offset, len(data)]))
    ((kind, content),) = value.items()
    if kind == "bool":
        return f"bool {int(content)}"
    if kind == "string":
        return f"string {content.encode().hex()}"
    return "none" if kind == "none" else f"{kind} {content}"


def main() -> None:
    programs, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for description in sorted(programs.glob("*.json")):
        content = json.loads(description.read_text())
        blob = bytearray()
        lines = [f"data {name}" for name in content["data"]]
        with zipfile.ZipFile(description.with_suffix(".npz")) as archive:
            for case in content["cases"]:
                tolerance = f"{case['rtol']} {case['atol']} {int(case.get('compare', True))}"
                lines.append(f"case {case['name']} {case['method']} {tolerance}")
                lines += [words(value, archive, blob) for value in case["inputs"]]
                lines.append("expect")
                lines += [words(value, archive, blob) for value in case["expected"]]
                lines.append("end")
        (out / f"{description.stem}.cases").write_text("\n".join(lines) + "\n")
        (out / f"{description.stem}.bin").write_bytes(blob)


if __name__ == "__main__":
    main()
