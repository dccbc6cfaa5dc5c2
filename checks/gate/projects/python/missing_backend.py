"""A program for a backend that is not there: python missing_backend.py PROGRAM."""

import sys

from executorch_runtime import Runtime

program = Runtime.get().load_program(sys.argv[1])
try:
    program.load_method("forward")
except RuntimeError as error:
    assert "DemoBackend" in str(error), error
    print(error)
else:
    raise AssertionError("a program for DemoBackend loads without it")
