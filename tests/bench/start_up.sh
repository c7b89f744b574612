#!/usr/bin/env bash
# How long a program takes to start, read a site's folder and end: `site card`, the median and the longest of 50. muffle-site is to take
# less than 50 ms; muffle, which loads LibTorch and MPI, is shown beside it.
# Usage: tests/bench/start_up.sh BUILD_FOLDER; on a machine that does nothing else.
set -euo pipefail
build=${1:?"usage: $0 BUILD_FOLDER"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/muffle-site" site init --name NORTH --out "$work/north" >/dev/null

for program in muffle-site muffle; do
  for _ in {1..50}; do
    start=$(date +%s%N)
    "$build/bin/$program" site card --site "$work/north" >/dev/null
    echo $(($(date +%s%N) - start))
  done | sort -n >"$work/times"
  awk -v p="$program" '{ t[NR] = $1 / 1e6 } END { printf "%-12s median %6.1f ms, longest %6.1f ms\n", p, (t[25] + t[26]) / 2, t[NR] }' "$work/times"
done
