"""What importing costs, and what it does not import."""

from __future__ import annotations

from collections import Counter

MEASURE = """
import sys, time
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
before, start = resident(), time.perf_counter()
from executorch_runtime import Runtime
runtime = Runtime.get()
imported = time.perf_counter() - start
print(f"import {imported * 1e3:.1f} ms, {(resident() - before) / 1024:.1f} MiB", file=sys.stderr)
"""


def test_import_is_light(python):
    kib = python(MEASURE + "print(resident())")
    # The whole process, interpreter included: the goal is 40 MB.
    assert int(kib) < 40_000


def test_neither_numpy_nor_torch_is_imported(python, add_path):
    code = f"""
import sys
import executorch_runtime
from executorch_runtime import portable_lib
method = executorch_runtime.Runtime.get().load_program({str(add_path)!r}).load_method("forward")
ones = [[1.0] * 4] * 2
assert method.execute([ones, ones])[0].tolist() == [[2.0] * 4] * 2
print([name for name in ("numpy", "torch", "executorch", "typing", "importlib.metadata") if name in sys.modules])
"""
    assert python(code).strip() == "[]"


def test_the_libraries_are_loaded_at_first_use(python):
    code = """
import executorch_runtime
kernels = lambda: "libexecutorch_kernels_optimized" in open("/proc/self/maps").read()
before = kernels()
executorch_runtime.Runtime.get()
print(before, kernels())
"""
    assert python(code).strip() == "False True"


def test_calls_look_for_no_library(python, add_path, tmp_path):
    code = f"""
import executorch_runtime
method = executorch_runtime.Runtime.get().load_program({str(add_path)!r}).load_method("forward")
ones = executorch_runtime.Tensor([[1.0] * 4] * 2)
for _ in range(50):
    method.execute([ones, ones])
"""
    python(code, LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(tmp_path / "loader"))
    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    searches = Counter(line.partition("find library=")[2].split()[0] for line in lines if "find library=" in line)
    assert searches and max(searches.values()) < 10, searches


def test_one_copy_of_each_library(python):
    code = """
import executorch_runtime
executorch_runtime.registration_errors()
paths = {line.split()[-1] for line in open("/proc/self/maps") if "libexecutorch" in line}
names = [path.rsplit("/")[-1] for path in paths]
print(len(names) == len(set(names)) >= 3)
"""
    assert python(code).strip() == "True"


def test_a_second_import(python):
    assert (
        python("import executorch_runtime, importlib; importlib.reload(executorch_runtime); print('again')")
        == "again\n"
    )
