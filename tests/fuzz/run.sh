#!/usr/bin/env bash
# Builds the fuzz targets (preset `asan`) and runs each for some seconds: tests/fuzz/run.sh [seconds, default 10]
# [targets...]; MUFFLE_FUZZ_JOBS of them at a time, from MUFFLE_FUZZ_SEED (else a new one each time); an input may take
# MUFFLE_FUZZ_TIMEOUT s (10). New inputs are kept in build/asan/found, crashes in build/asan/crashes: put those into
# tests/fuzz/corpus together with the fix. Needs clang and libclang-rt-dev (launch/install-debian.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-10}
shift || true
targets=("$@")
((${#targets[@]})) || targets=(artifact rounds container checkpoint moments_model ledger journal config keys messages job shelf answers formats picture csv schema)

build=${MUFFLE_FUZZ_BUILD:-build/asan}
mkdir -p "$build"
{ cmake --preset asan -B "$build" && cmake --build "$build" --target "${targets[@]/#/fuzz_}"; } >"$build/build.log" 2>&1 ||
  { tail -40 "$build/build.log" >&2; exit 1; }

# Libraries of the system are not instrumented: their vectors would look overrun.
export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
status=$build/status
rm -rf "$status"
mkdir "$status"

fuzz() {
  local target=$1 found=$build/found/$1 crashes=$build/crashes/$1 log=$build/$1.log options=()
  mkdir -p "$found" "$crashes"
  local seeds=("tests/fuzz/corpus/$target")
  [[ $target == config ]] && seeds+=(configs)
  [[ $target == schema ]] && seeds+=(configs/schemas)
  [[ -e tests/fuzz/$target.dict ]] && options=("-dict=tests/fuzz/$target.dict")
  if "$build/tests/fuzz/fuzz_$target" -seed="${MUFFLE_FUZZ_SEED:-0}" -max_total_time="$seconds" -max_len=10240 \
    -timeout="${MUFFLE_FUZZ_TIMEOUT:-10}" -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 -artifact_prefix="$crashes/" "${options[@]}" \
    "$found" "${seeds[@]}" >"$log" 2>&1; then
    echo "fuzz: $target clean, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions in $seconds s"
    touch "$status/$target"
  else
    grep -vE '^#[0-9]+|NEW_FUNC' "$log" | tail -60 >&2
    echo "fuzz: $target FAILED, see $log and $crashes" >&2
  fi
}

for target in "${targets[@]}"; do
  while (($(jobs -rp | wc -l) >= ${MUFFLE_FUZZ_JOBS:-1})); do wait -n; done
  fuzz "$target" &
done
wait
for target in "${targets[@]}"; do [[ -e $status/$target ]] || exit 1; done
