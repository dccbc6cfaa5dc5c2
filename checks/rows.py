"""Compares what Nix and Rust read in wheels/rows.toml: rows.py NIX-ROWS RUST-ROWS NIX-MATRIX RUST-MATRIX."""

import json
import sys


def load(path):
    with open(path) as file:
        return json.load(file)


def without_defaults(row):
    """Rust prints what a row leaves out: empty tables, an empty text, no CUDA."""
    kept = {key: value for key, value in row.items() if value not in ({}, "", None)}
    if "cuda" in kept:
        kept["cuda"] = {key: value for key, value in kept["cuda"].items() if value not in ([], 0)}
    return kept


nix, rust, nix_matrix, rust_matrix = map(load, sys.argv[1:])
faults = []
for name in sorted(nix.keys() | rust.keys()):
    a, b = (without_defaults(rows.get(name, {})) for rows in (nix, rust))
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            faults.append(f"row {name}, {key}: Nix reads {a.get(key)!r}, Rust {b.get(key)!r}")
if nix_matrix != rust_matrix:
    faults.append(f"CI's matrix: Nix makes {nix_matrix}, Rust {rust_matrix}")
if not nix:
    faults.append("there are no rows")
sys.exit("\n".join(faults) or None)
