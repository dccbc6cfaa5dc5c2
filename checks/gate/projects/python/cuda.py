"""The CUDA delegate on a machine that need not have a GPU: python cuda.py PROGRAM DATA."""

import sys

from executorch_runtime import Runtime

runtime = Runtime.get()
names = runtime.backend_registry.registered_backend_names
assert "CudaBackend" in names, names
print("registered:", " ".join(sorted(names)))
program = runtime.load_program(sys.argv[1], data_path=sys.argv[2])
for attempt in range(2):
    try:
        program.load_method("forward")
    except RuntimeError as error:
        text = str(error)
    else:
        text = "loaded"
print(text)
