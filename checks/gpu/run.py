"""Runs the exported programs and times them: python run.py ours|upstream FOLDER. Prints JSON.

Host: NumPy arrays (ours) or tensors of the host (upstream) in and out. Device: tensors on the GPU in and out, if PyTorch is there.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2}


def median(call: Any, count: int = 200) -> float:
    for _ in range(20):
        call()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return float(np.median(times))


def main() -> None:
    which, folder = sys.argv[1], Path(sys.argv[2])
    import torch  # Tensors of bfloat16, and of the device.

    if which == "ours":
        from executorch_runtime import Runtime
    else:
        from executorch.runtime import Runtime
    runtime, results = Runtime.get(), {}
    for about in sorted(folder.glob("*.json")):
        name, dtype = about.stem, json.loads(about.read_text())["dtype"]
        arrays = np.load(folder / f"{name}.npz")
        x = torch.from_numpy(arrays["x"]).to(getattr(torch, dtype))
        entry = {}
        for boundary, given in (("host", x), ("device", x.cuda())):
            stem = name if boundary == "host" else f"{name}_device"
            try:
                start = time.perf_counter()
                program = runtime.load_program(folder / f"{stem}.pte", data_path=folder / f"{stem}.ptd")
                method = program.load_method("forward")
                load = (time.perf_counter() - start) * 1e3
                got = torch.as_tensor(method.execute([given])[0]).float().cpu().numpy()
                gap = float(np.abs(got - arrays["expected"]).max() / np.abs(arrays["expected"]).max())

                def call() -> None:
                    method.execute([given])
                    torch.cuda.synchronize()

                entry[boundary] = {"load_ms": load, "ms": median(call), "gap": gap, "right": gap <= TOLERANCE[dtype]}
            except Exception as error:  # what does not run is a result, too
                entry[boundary] = {"error": str(error).splitlines()[0][:300]}
        results[name] = entry
    json.dump(results, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
