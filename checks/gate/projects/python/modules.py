"""Every module of the package imports, and every name that it promises is there."""

import importlib
import pkgutil

import executorch_runtime

names = ["executorch_runtime"]
for module in pkgutil.walk_packages(executorch_runtime.__path__, "executorch_runtime."):
    if not module.name.endswith("__main__"):
        names.append(module.name)
promised = 0
for name in names:
    module = importlib.import_module(name)
    for attribute in getattr(module, "__all__", ()):
        assert hasattr(module, attribute), f"{name}.{attribute} is promised and not there"
        promised += 1
assert any(name.endswith("_executorch_runtime") for name in names), names
assert promised > 40, f"{promised} names"
# What programs written for upstream's package use.
upstream = {
    "runtime": ["Runtime", "Program", "Method", "BackendRegistry", "OperatorRegistry", "Verification"],
    "portable_lib": [
        "_load_for_executorch",
        "_load_for_executorch_from_buffer",
        "_get_operator_names",
        "_get_registered_backend_names",
        "ExecuTorchModule",
        "MethodMeta",
        "Verification",
    ],
}
for name, wanted in upstream.items():
    module = importlib.import_module(f"executorch_runtime.{name}")
    missing = [attribute for attribute in wanted if not hasattr(module, attribute)]
    assert not missing, f"{name} lacks {missing}"
print(f"{len(names)} modules, {promised} names")
