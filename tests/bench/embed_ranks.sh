#!/bin/bash
# The embedding benchmark with 1 and with 2 MPI ranks. Usage: tests/bench/embed_ranks.sh BUILD_FOLDER
set -euo pipefail
build=${1:?"usage: $0 BUILD_FOLDER"}
for ranks in 1 2; do
  mpiexec --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" "$build/bench/embed_bench"
done
