"""Many threads: calls take turns, and other Python threads run meanwhile."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from executorch_runtime import portable_lib


def test_one_method_many_threads(add):
    def work(number):
        for step in range(200):
            value = number * 1000 + step
            (result,) = add.execute([np.full((2, 4), value, np.float32), np.ones((2, 4), np.float32)])
            assert (result == value + 1).all()
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))


def test_loading_in_many_threads(runtime, add_path):
    program = runtime.load_program(add_path)

    def work(_):
        method = program.load_method("forward")
        assert method.execute([np.ones((2, 4), np.float32)] * 2)[0][0, 0] == 2
        return id(runtime.load_program(add_path).load_method("forward")) and id(method)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(64)))) == 1


def test_other_threads_run_meanwhile(add):
    """With an endless switch interval, another thread gets on only when a call lets go of the interpreter."""
    ones = np.ones((2, 4), np.float32)
    started = threading.Event()
    seen = []

    def wait():
        started.wait()
        seen.append(True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        started.set()
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            add.execute([ones, ones])
        got_on = bool(seen)
    finally:
        sys.setswitchinterval(interval)
        waiting.join()
    assert got_on


def test_thread_count():
    before = portable_lib._threadpool_get_thread_count()
    try:
        portable_lib._unsafe_reset_threadpool(3)
        assert portable_lib._threadpool_get_thread_count() == 3
    finally:
        portable_lib._unsafe_reset_threadpool(before)
    assert portable_lib._threadpool_get_thread_count() == before
