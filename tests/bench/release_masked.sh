#!/usr/bin/env bash
# What masks cost a whole release: the main job's `muffle release` (D C = 1e5) on 4 MPI ranks, without and with
# --secure-aggregation in turns; medians of the command's wall time, and their ratio. Promised: below 1.10.
# Usage: tests/bench/release_masked.sh BUILD_FOLDER [TIMES]; on a machine that does nothing else.
set -euo pipefail
build=${1:?"usage: $0 BUILD_FOLDER [TIMES]"}
times=${2:-7}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
data=${DATA:-/usr/share/datasets/fashion-mnist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=launch/local-flags.sh
source "$root/launch/local-flags.sh"

# seconds NAME FLAGS...: one release into a folder of its own.
seconds() {
  local out=$work/$1/run start
  shift
  start=$(date +%s.%N)
  mpiexec "${local_flags[@]}" "${loopback[@]}" -n 4 "$build/bin/muffle" release --config "$root/configs/fashion-mnist.toml" --set "data.dir=$data" \
    "$@" --out "$out" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { print b - a }'
}
median() { sort -n "$1" | sed -n "$(((times + 1) / 2))p"; }

mkdir "$work/warm" && seconds warm >/dev/null
for i in $(seq "$times"); do
  mkdir "$work/plain-$i" "$work/masked-$i"
  seconds "plain-$i" >>"$work/plain"
  seconds "masked-$i" --secure-aggregation >>"$work/masked"
done
plain=$(median "$work/plain")
masked=$(median "$work/masked")
echo "release, D C = 1e5, 4 ranks, median of $times: plain $plain s, masked $masked s, ratio $(awk -v a="$masked" -v b="$plain" 'BEGIN { printf "%.3f", a / b }')"
