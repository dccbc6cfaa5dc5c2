"""Reads handwritten digits with the installed runtime. Prints key=value lines.

python run.py [digits.pte [digits_test.bin]]
"""

from __future__ import annotations

import statistics
import struct
import sys
import time
from pathlib import Path

from executorch_runtime import Runtime, Tensor

HERE = Path(__file__).resolve().parent
BATCH = 64


def read_test_set(path: Path) -> tuple[Tensor, bytes]:
    """Images [n, 1, height, width] and digits. The file's layout, little-endian, is in README.md."""
    content = path.read_bytes()
    magic, count, height, width = struct.unpack_from("<8sIII", content)
    if magic != b"DIGITS01":
        raise SystemExit(f"{path}: begins with {magic!r}, expected b'DIGITS01': not a digits test set")
    end = 20 + 4 * count * height * width
    return Tensor(content[20:end], dtype="float32", shape=(count, 1, height, width)), content[end:]


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "digits.pte")
    images, digits = read_test_set(Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "digits_test.bin")

    started = time.perf_counter()
    method = Runtime.get().load_program(model).load_method("forward")
    load_ms = (time.perf_counter() - started) * 1e3

    predictions: list[int] = []
    for start in range(0, len(images), BATCH):
        (scores,) = method.execute([images[start : start + BATCH]])
        predictions += [row.index(max(row)) for row in scores.tolist()]

    times = []
    for index in range(min(200, len(images))):
        image = images[index : index + 1]
        started = time.perf_counter()
        method.execute([image])
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
