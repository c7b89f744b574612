#!/usr/bin/env bash
# Weak scaling of the embedding: each rank has RECORDS made-up images of 28 x 28 and one core. Time from the first record until
# every rank has embedded its own, and that of the reduction to rank 0 (the charge and the noise, which lie between the two, are
# rank 0's and the same for every number of ranks), on 1 and on 2 ranks in turn, the best of 5 runs each. 1.0 would be no gain
# from the second rank, 2.0 perfect. Needs idle cores. Usage: tests/bench/weak_scaling.sh MUFFLE [RECORDS] [FEATURES]
set -euo pipefail
muffle=${1:?"usage: $0 MUFFLE [RECORDS] [FEATURES]"}
records=${2:-120000} features=${3:-10000}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$work" "$records" <<'END'
import os, struct, sys
folder, n = sys.argv[1], int(sys.argv[2])
for rank in range(2):
    with open(f"{folder}/x-{rank}", "wb") as f:
        f.write(struct.pack(">HBB3I", 0, 8, 3, n, 28, 28) + os.urandom(n * 784))
    with open(f"{folder}/y-{rank}", "wb") as f:
        f.write(struct.pack(">HBBI", 0, 8, 1, n) + bytes(i % 10 for i in range(n)))
END

# seconds RANKS RUN: between the lines of rank 0's log.
seconds() {
  local out=$work/out-$1-$2
  MUFFLE_BINARY=$muffle "$here/launch/mpirun.sh" -n "$1" --threads 1 -- release --config "$here/configs/fashion-mnist.toml" -v \
    --data "$work/x-{rank}" --labels "$work/y-{rank}" --set data.dir="" --set "data.records=$(($1 * records))" \
    --set "map.rff.count=$features" --set "privacy.ledger=$out.ledger" --out "$out" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  python3 - "$out/logs/rank-0.jsonl" <<'END'
import datetime, json, sys
marks = ("embedding begins", "every rank has embedded", "the sum begins", "the sum ends")
at = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    for mark in marks:
        if mark in entry["message"]: at[mark] = datetime.datetime.fromisoformat(entry["time"].replace("Z", "+00:00"))
begin, embedded, sum_begin, sum_end = (at[mark] for mark in marks)
print((embedded - begin + (sum_end - sum_begin)).total_seconds())
END
}

declare -A best
for run in 1 2 3 4 5; do
  for ranks in 1 2; do
    s=$(seconds "$ranks" "$run")
    best[$ranks]=$(awk -v a="${best[$ranks]:-1e9}" -v b="$s" 'BEGIN { print a < b ? a : b }')
  done
done
awk -v one="${best[1]}" -v two="${best[2]}" -v n="$records" \
  'BEGIN { printf "1 rank: %d records in %.3f s; 2 ranks: %d in %.3f s; weak scaling %.2fx (target 1.9)\n", n, one, 2 * n, two, 2 * one / two }'
