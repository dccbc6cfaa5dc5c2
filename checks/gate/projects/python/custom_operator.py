"""A library with an operator of its own joins the process: python custom_operator.py LIBRARY."""

import sys

import executorch_runtime
from executorch_runtime import Runtime

registry = Runtime.get().operator_registry
before = registry.operator_names
assert "gate::doubled.out" not in before
executorch_runtime.load_library(sys.argv[1])
added = registry.operator_names - before
assert added == {"gate::doubled.out"}, added
executorch_runtime.load_library(sys.argv[1])
assert executorch_runtime.registration_errors() == [], executorch_runtime.registration_errors()
print(f"{len(before)} operators, then {added} as well")
