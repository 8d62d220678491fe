#!/usr/bin/env bash
# Tries reports as Parquet files: builds them in, and has Arrow's own implementation (pyarrow, of PyPI) read what was
# written. Part of `make test-all`.
#
# usage: scripts/try-parquet.sh
# LOOPTAX_FLEET_TOOLS names a folder for pyarrow (default: target/fleet-tools); to undo, delete its folder `arrow`.
# Exit status: 0 all is well, 2 pyarrow cannot be installed, else what the test says.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

version=26.0.1
folder=${LOOPTAX_FLEET_TOOLS:-$PWD/target/fleet-tools}
folder=${folder%/}

if [ "$(cat "$folder/arrow.version" 2>/dev/null)" != "$version" ]; then
  mkdir -p "$folder"
  rm -rf "$folder/arrow"
  { python3 -m venv "$folder/arrow" && "$folder/arrow/bin/pip" install --quiet "pyarrow==$version"; } >&2 || {
    echo "error: pyarrow $version cannot be installed" >&2
    echo "hint: python3-venv and a way to PyPI are needed" >&2
    exit 2
  }
  printf '%s\n' "$version" >"$folder/arrow.version"
fi
LOOPTAX_PYARROW=$folder/arrow/bin/python cargo test --locked --package looptax-fleet --features parquet --test it parquet
