#!/bin/bash
# The embedding benchmark with 1 and with 2 MPI ranks. Usage: tests/bench/embed_ranks.sh BUILD_FOLDER
set -euo pipefail
build=${1:?"usage: $0 BUILD_FOLDER"}
# shellcheck source=launch/local-flags.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../launch/local-flags.sh"
for ranks in 1 2; do
  mpiexec "${local_flags[@]}" "${loopback[@]}" -n "$ranks" "$build/bench/embed_bench"
done
