#!/usr/bin/env bash
# What a training step sends: bytes that left the interface of each of two hosts (network namespaces; root), a rank on each,
# between a training of 5 steps and one of 25, beside what `muffle plan` says. The 2-D mixture's generator and release.
# Usage: tests/bench/step_traffic.sh MUFFLE
set -euo pipefail
MUFFLE=$(realpath -- "${1:?"usage: $0 MUFFLE"}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/e2e/hosts/net.sh
source "$here/tests/e2e/hosts/net.sh"
work=$(mktemp -d)
trap 'hosts_down; rm -rf "$work"' EXIT
hosts_up 2

config=(--config "$here/configs/gaussian-mixture-2d.toml")
"$MUFFLE" release "${config[@]}" --out "$work/release" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$MUFFLE" plan "${config[@]}" --ranks 2 | grep -i -A3 'step' || true

# sent STEPS: sets `bytes` to what hosts 1 and 2 send in a training of so many steps.
sent() {
  local h before=()
  local out=$work/train-$1
  mkdir "$out"
  cp "$work/release/release.mfl" "$out"
  for h in 1 2; do before[h]=$(on_host "$h" cat /sys/class/net/eth0/statistics/tx_bytes); done
  over 2 train "${config[@]}" --set "train.steps=$1" --out "$out" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  bytes=()
  for h in 1 2; do bytes[h]=$(($(on_host "$h" cat /sys/class/net/eth0/statistics/tx_bytes) - before[h])); done
}

sent 5
few=("${bytes[@]}") # from here on by rank: host 1's is rank 0
sent 25
many=("${bytes[@]}")
for rank in 0 1; do echo "rank $rank sent $(((many[rank] - few[rank]) / 20)) bytes a step"; done
