"""The processes that bench.py measures: one runtime each (see worker.py)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTERNAL = "_default_external_constant.ptd"


class Worker:
    """A process that speaks the protocol of worker.py."""

    def __init__(self, kind: str, python: str, threads: int, **more: str) -> None:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": str(threads), **more}
        self.process = subprocess.Popen(
            [python, str(HERE / f"{kind}.py"), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip
        self.ready = self.reply()

    def reply(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the worker ended with status {self.process.wait()}"}
        return json.loads(line)

    def ask(self, *words: str) -> dict:
        try:
            self.process.stdin.write("\t".join(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"the worker ended with status {self.process.wait()}"}
        return self.reply()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def load(program: Path) -> list[str]:
    """The command that loads a program's `forward`."""
    external = program.parent / EXTERNAL
    words = ["load", str(program), str(program.with_suffix(".npz")), "forward"]
    if program.stem.startswith("ptd") and external.exists():
        words.append(str(external))
    return words
