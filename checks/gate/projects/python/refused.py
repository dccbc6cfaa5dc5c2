"""A library that was built for another ABI or release is refused with both versions: python refused.py LIBRARY EXPECTED..."""

import sys

import executorch_runtime

library, *parts = sys.argv[1:]
try:
    executorch_runtime.load_library(library)
except RuntimeError as error:
    text = str(error)
    missing = [part for part in parts if part not in text]
    assert not missing, f"{text!r} does not say {missing}"
    print(text)
else:
    raise AssertionError(f"{library} was accepted")
assert "DemoBackend" not in executorch_runtime.Runtime.get().backend_registry.registered_backend_names
