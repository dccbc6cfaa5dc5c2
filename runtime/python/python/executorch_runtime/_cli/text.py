"""Numbers as people read them."""

from __future__ import annotations


def size(count: float) -> str:
    """A number of bytes."""
    if count < 1024:
        return f"{count:.0f} B"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024 or unit == "GiB":
            break
    return f"{amount:.1f} {unit}"


def seconds(duration: float) -> str:
    """A duration."""
    if duration < 1e-3:
        return f"{duration * 1e6:.1f} us"
    return f"{duration * 1e3:.2f} ms" if duration < 1 else f"{duration:.2f} s"


def counted(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
