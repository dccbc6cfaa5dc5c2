"""Runs the exported programs and times them: python run.py ours|upstream FOLDER. Prints JSON.

`host`: tensors of the host in and out. `device`: tensors on the GPU in and out. Of ours alone: `stream`, the same on a stream that the
caller chose; `graph`, the same as a CUDA graph.
"""

from __future__ import annotations

import contextlib
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


def measure(runtime: Any, stem: Path, given: Any, how: str) -> tuple[float, float, Any]:
    """Milliseconds of loading and of a call, and what it gives."""
    import torch

    start = time.perf_counter()
    program = runtime.load_program(stem.with_suffix(".pte"), data_path=stem.with_suffix(".ptd"))
    graph = {"CudaBackend": {"enable_cuda_graph_for_method": "forward"}}
    method = program.load_method("forward", **({"backend_options": graph} if how == "graph" else {}))
    load = (time.perf_counter() - start) * 1e3
    chosen: Any = contextlib.nullcontext()
    if how == "stream":
        from executorch_runtime import cuda

        chosen = cuda.stream(torch.cuda.current_stream())
    # As many calls as it takes until graphs are recorded.
    with chosen:
        for _ in range(5):
            got = torch.as_tensor(method.execute([given])[0])
        got = got.float().cpu().numpy()

        def call() -> None:
            method.execute([given])
            torch.cuda.synchronize()

        return load, median(call), got


def main() -> None:
    which, folder = sys.argv[1], Path(sys.argv[2])
    import torch  # Tensors of bfloat16, and of the device.

    ours = which == "ours"
    if ours:
        from executorch_runtime import Runtime
    else:
        from executorch.runtime import Runtime
    runtime, results = Runtime.get(), {}
    for about in sorted(folder.glob("*.json")):
        name, dtype = about.stem, json.loads(about.read_text())["dtype"]
        arrays = np.load(folder / f"{name}.npz")
        x = torch.from_numpy(arrays["x"]).to(getattr(torch, dtype))
        entry = {}
        for how in ("host", "device", *(("stream", "graph") if ours else ())):
            stem, given = (name, x) if how == "host" else (f"{name}_device", x.cuda())
            try:
                load, ms, got = measure(runtime, folder / stem, given, how)
                gap = float(np.abs(got - arrays["expected"]).max() / np.abs(arrays["expected"]).max())
                entry[how] = {"load_ms": load, "ms": ms, "gap": gap, "right": gap <= TOLERANCE[dtype]}
            except Exception as error:  # what does not run is a result, too
                entry[how] = {"error": str(error).splitlines()[0][:300]}
        results[name] = entry
    json.dump(results, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
