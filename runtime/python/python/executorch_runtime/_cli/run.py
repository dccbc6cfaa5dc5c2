"""`executorch-runtime run`."""

from __future__ import annotations

import json

from executorch_runtime import Runtime
from executorch_runtime._cli.inputs import make, numpy_or_explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _line(value: Any) -> str:
    if not hasattr(value, "shape"):
        return repr(value)
    text = f"{value.dtype} {list(value.shape)}"
    # Up to a screen's line of numbers is worth showing.
    return f"{text}  {value.tolist()}" if value.size <= 32 else text


def command(options: argparse.Namespace) -> int:
    """Runs a method once and prints or writes its outputs."""
    if options.output:
        numpy_or_explain("--output")
    method = Runtime.get().load_program(options.model, data_path=options.ptd).load_method(options.method, backend_options=options.backend_options)
    outputs = method.execute(make(method, options.inputs))
    if options.output:
        numpy = numpy_or_explain("--output")
        numpy.savez(options.output, **{f"output_{i}": numpy.asarray(value) for i, value in enumerate(outputs)})
    if options.json:
        print(json.dumps([_plain(value) for value in outputs]))
    else:
        for index, value in enumerate(outputs):
            print(f"output {index}: {_line(value)}")
    return 0
