"""Mistakes and damaged files raise errors that say what to do; nothing ends the process: python errors.py MODELS."""

import random
import sys
from pathlib import Path

from cases import suites
from executorch_runtime import Runtime

runtime = Runtime.get()
suite = next(suite for suite in suites(Path(sys.argv[1])) if suite.cases[0]["method"] == "forward")
program = suite.load(runtime)
method = program.load_method("forward")


def refused(what, call, *parts):
    try:
        call()
    except Exception as error:
        text = str(error)
        assert all(part in text for part in parts), f"{what}: {text!r} does not say {parts}"
        assert isinstance(error, (RuntimeError, TypeError, ValueError, LookupError, OSError)), type(error)
        print(f"{what}: {type(error).__name__}: {text.splitlines()[0][:160]}")
    else:
        raise AssertionError(f"{what} was accepted")


refused("no such method", lambda: program.load_method("backward"), "backward", "forward")
refused("no such file", lambda: runtime.load_program("/no/such.pte"), "/no/such.pte")
refused("a truncated program", lambda: runtime.load_program(b"short"), "5 bytes")
refused("no program", lambda: runtime.load_program(bytes(1000)), "ET12")
refused("no inputs", lambda: method.execute([]))
refused("a wrong shape", lambda: method.execute([[1.0] * 3] * len(suite.cases[0]["inputs"])))
refused("a wrong type", lambda: method.execute([object()] * len(suite.cases[0]["inputs"])))

# Bytes at random: an error or a program, and the process goes on.
data = suite.program.read_bytes()
draw = random.Random(1)
outcomes = {"refused": 0, "loaded": 0}
for _ in range(300):
    damaged = bytearray(data)
    for _ in range(draw.choice([1, 1, 4, 32])):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    try:
        changed = runtime.load_program(bytes(damaged))
        for name in changed.method_names:
            changed.load_method(name)
        outcomes["loaded"] += 1
    except Exception as error:
        assert str(error), "an error without a message"
        outcomes["refused"] += 1
assert outcomes["refused"] > 10, outcomes
print(f"300 damaged programs: {outcomes}")
# What was loaded before still gives the same results.
print(f"afterwards: {suite.run(program)} values")
