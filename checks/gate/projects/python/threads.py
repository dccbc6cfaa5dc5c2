"""One program in several threads at once, each with a method of its own: python threads.py MODELS."""

import sys
import threading
from pathlib import Path

from cases import suites
from executorch_runtime import Runtime

runtime = Runtime.get()
found = suites(Path(sys.argv[1]))
failures: list[BaseException] = []


def work(suite):
    try:
        for _ in range(3):
            suite.run(suite.load(runtime, suite.program.read_bytes()))
    except BaseException as error:
        failures.append(error)


# Archives are not read from several threads at once.
all_suites = [suite for _ in range(2) for suite in suites(Path(sys.argv[1]))]
threads = [threading.Thread(target=work, args=(suite,)) for suite in all_suites]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures[0]
print(f"{len(threads)} threads, {len(found)} programs")
