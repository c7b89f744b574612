#!/bin/bash
# Scores of the closed form on FashionMNIST's real test set: three releases at each epsilon, whose noise comes from the
# operating system's entropy, so no two runs agree to the digit. Prints one line a run.
# usage: [TWELVE=1] [EPSILONS="1.0 10.0"] moments_table.sh MUFFLE OUT [DATADIR]   (TWELVE=1: at epsilon 1 the papers' twelve classifiers too)
set -euo pipefail
muffle=${1:?usage: moments_table.sh MUFFLE OUT [DATADIR]}
out=${2:?usage: moments_table.sh MUFFLE OUT [DATADIR]}
data=${3:-/usr/share/datasets/fashion-mnist}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$out"
config=$here/../../configs/fashion-mnist-moments.toml

for epsilon in ${EPSILONS:-0.2 1.0 10.0}; do
  for run in 1 2 3; do
    folder=$out/epsilon-$epsilon-run-$run
    "$muffle" run --config "$config" --out "$folder" --set "data.dir=\"$data\"" \
      --set "privacy.epsilon=$epsilon" > "$folder.log" 2>&1 ||
      { cat "$folder.log" >&2; exit 1; }
    printf 'epsilon %s run %s: ' "$epsilon" "$run"
    tr -d '\n ' < "$folder/metrics.json"
    echo
    if [[ -n ${TWELVE:-} && $epsilon == 1.0 ]]; then
      "$here/twelve_classifiers.py" "$folder/samples.npz" "$data" | tail -1
    fi
  done
done
