"""The command `executorch-runtime`: results on stdout, everything else on stderr, status 1 for a failure."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

import executorch_runtime
from executorch_runtime import portable_lib


def _option(text: str) -> tuple[str, str, bool | int | str]:
    """An option for a backend: `BACKEND.KEY=VALUE`."""
    name, equals, value = text.partition("=")
    backend, dot, key = name.partition(".")
    if not (equals and dot and backend and key):
        raise argparse.ArgumentTypeError(f"{text!r} is not BACKEND.KEY=VALUE")
    if value in ("true", "false"):
        return backend, key, value == "true"
    try:
        return backend, key, int(value)
    except ValueError:
        return backend, key, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="executorch-runtime", description="Runs and explains ExecuTorch programs.")
    parser.add_argument("--version", action="version", version=f"executorch-runtime {executorch_runtime.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{run,inspect,bench,env}")

    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print JSON")
    common.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="LIBRARY",
        help="load a shared library that registers operators or a backend (repeatable)",
    )
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("model", help="a .pte file")
    model.add_argument("--ptd", metavar="FILE", help="the .ptd file with the program's external data")
    model.add_argument(
        "--option",
        action="append",
        default=[],
        type=_option,
        metavar="BACKEND.KEY=VALUE",
        help="an option for a backend: true, false, an integer, or a text (repeatable)",
    )
    call = argparse.ArgumentParser(add_help=False)
    call.add_argument("--method", default="forward", help="the method (default: forward)")
    call.add_argument(
        "--inputs",
        default="zeros",
        metavar="SOURCE",
        help="an .npz file (needs NumPy), or zeros, ones or random of the largest shapes (default: zeros)",
    )
    call.add_argument("--threads", type=int, default=0, help="number of threads (default: all that are allowed)")

    run = commands.add_parser("run", parents=[model, call, common], help="run a method once and print its outputs")
    run.add_argument("--output", metavar="FILE", help="write the outputs to an .npz file (needs NumPy)")
    inspect = commands.add_parser(
        "inspect", parents=[model, common], help="explain what is in a program, and why it cannot run here"
    )
    inspect.add_argument("--nodes", action="store_true", help="list the nodes of delegates one by one")
    bench = commands.add_parser("bench", parents=[model, call, common], help="time loading and running a method")
    bench.add_argument("--seconds", type=float, default=3.0, help="for how long to run (default: 3)")
    env = commands.add_parser("env", parents=[common], help="say what this installation has")
    env.add_argument("--operators", action="store_true", help="list all operators")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    options.backend_options = {}
    for backend, key, value in getattr(options, "option", ()):
        options.backend_options.setdefault(backend, {})[key] = value
    try:
        for library in options.load:
            executorch_runtime.load_library(library)
        if getattr(options, "threads", 0):
            portable_lib._unsafe_reset_threadpool(options.threads)
        # Each command is a module of its own, imported only when it is asked for.
        module = importlib.import_module(f"executorch_runtime._cli.{options.command}")
        status = int(module.command(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read the output has enough; the interpreter must not try to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (executorch_runtime.ExecuTorchError, OSError) as error:
        print(f"executorch-runtime: {error}", file=sys.stderr)
        return 1
