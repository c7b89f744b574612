#!/usr/bin/env bash
# Installs, builds and runs the tests.
#   launch/test.sh [PRESET] [ctest options]   what a change can break in a day's work: at most 8 minutes after the build (PRESET: cpu; asan:
#                                             address and undefined-behaviour sanitizers, without LibTorch and MPI; asan-all; tsan; cuda)
#   launch/test.sh thorough                   all of it: whole jobs, random kills, Slurm, hosts, every mode, step and audit; every room under
#                                             the sanitizers, threads under theirs, long fuzzing; benchmarks compile. Hours. A test that is
#                                             skipped fails.
#   launch/test.sh thorough -R REGEX          those of cpu's tests alone, as thorough runs them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tier=quick preset=${1:-cpu}
shift || true
if [[ $preset == thorough ]]; then tier=thorough preset=cpu; fi
[[ -z ${MUFFLE_SKIP_INSTALL:-} ]] && launch/install-debian.sh

# tests PRESET [ctest options]
tests() {
  local preset=$1 label count
  shift
  launch/build.sh "$preset"
  # A label without tests would be green for no reason.
  for label in unit thread mpi stat e2e thorough; do
    [[ $preset == asan && ! $label =~ unit|thread ]] || [[ $preset == asan-all && $label == stat ]] || [[ $preset == tsan && ! $label =~ unit|thread ]] && continue
    count=$(ctest --preset "$preset" -N -L "^$label\$" | sed -n 's/^Total Tests: //p')
    ((count > 0)) || { echo "test: preset $preset: label '$label' has no test" >&2; exit 1; }
  done
  ctest --preset "$preset" --output-junit "$PWD/build/$preset/tests.xml" "$@"
  [[ $tier == quick ]] || none_skipped "$preset"
}

# Neither a CTest test nor one of Google Test's may have been skipped. CTest's own log calls a skipped test passed.
none_skipped() {
  ! { grep -a -B9 '<skipped ' "build/$1/tests.xml" || grep -aE '^\[  SKIPPED \] .* \(' "build/$1/Testing/Temporary/LastTest.log"; } ||
    { echo "test: skipped above: in the thorough tier that is a failure" >&2; exit 1; }
}

if [[ $tier == quick ]]; then
  tests "$preset" -LE thorough "$@"
  exit
fi

export MUFFLE_TIER=thorough
cmake --preset cpu -DMUFFLE_BENCH=ON >/dev/null # benchmarks are not run, but they compile
tests cpu "$@"
(($# == 0)) || exit 0
# Statistics learn nothing from sanitizers, and clocks run otherwise there.
tests asan-all -L 'unit|thread|mpi|e2e' -E 'lint|launch|docs|comm_deadline|comm_fault|chaos|slurm|hosts'
tests tsan -E 'lint|launch|docs'
tests/lint.sh torch-headers tidy
MUFFLE_FUZZ_JOBS=2 tests/fuzz/run.sh 600
echo "test: thorough: all done"
