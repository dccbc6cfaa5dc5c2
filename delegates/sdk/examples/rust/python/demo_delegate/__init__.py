"""An example of a delegate: `DemoBackend`, in a library beside this file."""

from pathlib import Path

import executorch_runtime


def load() -> None:
    """Loads the library, whose initialiser registers the backend. The runtime calls this at its first use."""
    executorch_runtime.load_library(Path(__file__).parent / "libdemo_delegate.so")
