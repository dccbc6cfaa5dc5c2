"""Upstream's levels of verification."""

from __future__ import annotations

import enum


class Verification(enum.Enum):
    """How thoroughly upstream checks a program. This runtime checks all of every program, whichever is given."""

    Minimal = 0
    InternalConsistency = 1
