#!/bin/sh
# Tries the CUDA delegate on a machine with an NVIDIA GPU, and times it: less than 8 minutes on a recent one.
#
#   checks/gpu/run.sh WHEEL [OUT]
#
# WHEEL is a wheel of this project for the machine's CUDA (cu126 or cu130, from `cargo xtask wheel cu130`); OUT a folder for
# programs and results, new unless it is given. Needs Python 3.10 to 3.13 with venv, g++, CMake 3.19, and PyPI or a folder with
# the packages (PIP_ARGS="--no-index --find-links FOLDER"). What it prints goes into docs/cuda.md.
set -eu
if [ $# -lt 1 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(realpath "$1")
out=${2:-$(mktemp -d)}
mkdir -p "$out"
out=$(realpath "$out")
python=${PYTHON:-python3}

# The exporter and upstream's runtime, PyTorch and executorch of the tested release; ours beside it, which needs nothing of theirs.
[ -x "$out/venv/bin/python" ] || "$python" -m venv "$out/venv"
# shellcheck disable=SC2086 # several arguments
"$out/venv/bin/python" -m pip install -q ${PIP_ARGS:-} -r "$here/requirements.txt" "$wheel"
python=$out/venv/bin/python

echo "machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)"
echo "wheel: $(basename "$wheel")"

# Programs, inputs and eager results, for this GPU.
"$python" "$here/export.py" "$out/programs"

# Python: results at both boundaries, streams, graphs, and times.
"$python" "$here/run.py" ours "$out/programs" > "$out/ours.json"
# Upstream's own CUDA runtime is not on PyPI: its wheel is given in UPSTREAM_WHEEL, if there is one.
if [ -n "${UPSTREAM_WHEEL:-}" ]; then
  "$python" -m pip install -q --no-deps --force-reinstall "$UPSTREAM_WHEEL"
  "$python" "$here/run.py" upstream "$out/programs" > "$out/upstream.json"
fi

# C++: with the host's memory at the boundary, and with the device's.
package=$("$python" -c 'import executorch_runtime, os; print(os.path.dirname(executorch_runtime.__file__))')
cmake -S "$here/cpp" -B "$out/cpp" -DCMAKE_BUILD_TYPE=Release -Dexecutorch_DIR="$package/lib/cmake/executorch" > "$out/cmake.log"
cmake --build "$out/cpp" > "$out/build.log"
for program in "$out"/programs/*.pte; do
  "$out/cpp/gpu_consumer" "$program" "${program%.pte}.ptd"
done | tee "$out/cpp.txt"

"$python" "$here/report.py" "$out"
