"""A program gives the same results from a path, bytes and an open file, by both APIs: python sources.py MODELS."""

import io
import sys
from pathlib import Path

from cases import suites
from executorch_runtime import Runtime, portable_lib

runtime = Runtime.get()
suite = next(suite for suite in suites(Path(sys.argv[1])) if not suite.data and suite.cases[0]["method"] == "forward")
data = suite.program.read_bytes()
forms = {
    "path": suite.program,
    "str": str(suite.program),
    "bytes": data,
    "bytearray": bytearray(data),
    "memoryview": memoryview(data),
    "file": io.BytesIO(data),
}
for name, form in forms.items():
    print(f"{name}: {suite.run(suite.load(runtime, form))} values")


class Loaded:
    """The module API in the form of a program."""

    def __init__(self, module) -> None:
        self.module = module

    def load_method(self, name):
        return self

    def execute(self, inputs):
        return self.module.forward(inputs)


for name, module in {
    "_load_for_executorch": portable_lib._load_for_executorch(str(suite.program)),
    "_load_for_executorch_from_buffer": portable_lib._load_for_executorch_from_buffer(data),
}.items():
    print(f"{name}: {suite.run(Loaded(module))} values")
