#!/usr/bin/env bash
# Installs, builds and runs the tests: launch/test.sh [cpu|asan|tsan|cuda] [ctest options]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-cpu}
shift || true
launch/install-debian.sh
launch/build.sh "$preset"

# A label without tests would be green for no reason.
for label in unit thread mpi stat e2e e2e-slurm; do
  [[ $preset == tsan && $label != unit && $label != thread ]] && continue
  count=$(ctest --preset "$preset" -N -L "^$label\$" | sed -n 's/^Total Tests: //p')
  ((count > 0)) || { echo "test: label '$label' has no test" >&2; exit 1; }
done
ctest --preset "$preset" "$@"
