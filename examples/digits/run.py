"""Reads handwritten digits with the installed runtime. Prints key=value lines.

    python run.py [digits.pte [digits_test.bin]]
"""

from __future__ import annotations

import statistics
import struct
import sys
import time
from array import array
from pathlib import Path

from executorch_runtime import Runtime

HERE = Path(__file__).resolve().parent
BATCH = 64


def read_test_set(path: Path) -> tuple[array, bytes, int, int]:
    """Pixels, digits, height, width. The file's layout is in README.md."""
    content = path.read_bytes()
    magic, count, height, width = struct.unpack_from("<8sIII", content)
    if magic != b"DIGITS01":
        raise SystemExit(f"{path}: begins with {magic!r}, expected b'DIGITS01': not a digits test set")
    pixels = array("f")
    pixels.frombytes(content[20 : 20 + 4 * count * height * width])
    if sys.byteorder == "big":
        pixels.byteswap()
    return pixels, content[20 + 4 * count * height * width :], height, width


def nested(pixels: array, height: int, width: int) -> list:
    """Flat pixels as lists [n][1][height][width], which the runtime takes as they are."""
    rows = [list(pixels[i : i + width]) for i in range(0, len(pixels), width)]
    return [[rows[i : i + height]] for i in range(0, len(rows), height)]


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "digits.pte")
    pixels, digits, height, width = read_test_set(Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "digits_test.bin")
    images = nested(pixels, height, width)

    started = time.perf_counter()
    method = Runtime.get().load_program(model).load_method("forward")
    load_ms = (time.perf_counter() - started) * 1e3

    predictions: list[int] = []
    for start in range(0, len(images), BATCH):
        (scores,) = method.execute([images[start : start + BATCH]])
        predictions += [row.index(max(row)) for row in scores.tolist()]

    times = []
    for image in images[:200]:
        started = time.perf_counter()
        method.execute([[image]])
        times.append((time.perf_counter() - started) * 1e6)

    digest = 0xCBF29CE484222325
    for digit in predictions:
        digest = (digest ^ digit) * 0x100000001B3 % 2**64
    right = sum(a == b for a, b in zip(predictions, digits))
    print("language=python")
    print(f"images={len(images)}")
    print(f"correct={right}")
    print(f"accuracy={right / len(images):.4f}")
    print(f"predictions={digest:016x}")
    print(f"load_ms={load_ms:.3f}")
    print(f"latency_us={statistics.median(times):.1f}")


if __name__ == "__main__":
    main()
