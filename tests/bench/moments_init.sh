#!/bin/bash
# The training that starts from the closed form: both models of one release, scored, and which of them the proxy would keep.
# FashionMNIST's first 50,000 training images are released; the last 10,000 are the test set, so the real test set stays unseen.
# Beside each, configs/fashion-mnist-moments.toml on the same images: a release of the moments alone, whose noise is 4.7 % less.
# The noise comes from the operating system's entropy: no two runs agree to the digit. Prints three lines a run.
# usage: moments_init.sh MUFFLE OUT [RUNS] [DATADIR]   (EPSILONS="0.2 1.0 10.0" and SAMPLES=60000 are the defaults)
set -euo pipefail
muffle=${1:?usage: moments_init.sh MUFFLE OUT [RUNS] [DATADIR]}
out=${2:?usage: moments_init.sh MUFFLE OUT [RUNS] [DATADIR]}
runs=${3:-3}
data=${4:-/usr/share/datasets/fashion-mnist}
configs=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/configs

mkdir -p "$out/data"
/usr/bin/python3 - "$data" "$out/data" <<'PYTHON'
import gzip, struct, sys
source, target = sys.argv[1:]
for name, head in (("images-idx3", 16), ("labels-idx1", 8)):
    with gzip.open(f"{source}/train-{name}-ubyte.gz") as f:
        whole = f.read()
    size = (len(whole) - head) // 60000
    for part, first, end in (("train", 0, 50000), ("t10k", 50000, 60000)):
        header = whole[:4] + struct.pack(">I", end - first) + whole[8:head]
        with gzip.open(f"{target}/{part}-{name}-ubyte.gz", "wb", 1) as f:
            f.write(header + whole[head + first * size : head + end * size])
PYTHON
data_settings=(--set "data.dir=\"$(cd "$out/data" && pwd)\"" --set data.records=50000 --set "sample.count=${SAMPLES:-60000}")
settings=(--config "$configs/fashion-mnist-init.toml" "${data_settings[@]}")

for epsilon in ${EPSILONS:-0.2 1.0 10.0}; do
  for ((run = 1; run <= runs; ++run)); do
    trained=$out/epsilon-$epsilon-run-$run closed=$out/epsilon-$epsilon-run-$run-closed
    alone=$out/epsilon-$epsilon-run-$run-alone
    mkdir -p "$closed"
    {
      "$muffle" run "${settings[@]}" --set "privacy.epsilon=$epsilon" --set 'train.keep="trained"' --out "$trained" &&
        "$muffle" train "${settings[@]}" --set "privacy.epsilon=$epsilon" --set 'train.init="random"' \
          --set 'model.generator="moments"' --release "$trained/release.mfl" --out "$closed" &&
        "$muffle" sample "${settings[@]}" --out "$closed" &&
        "$muffle" evaluate "${settings[@]}" --out "$closed" &&
        "$muffle" run --config "$configs/fashion-mnist-moments.toml" "${data_settings[@]}" \
          --set "privacy.epsilon=$epsilon" --out "$alone"
    } > "$trained.log" 2>&1 || { cat "$trained.log" >&2; exit 1; }
    printf 'epsilon %s run %s: trained %s\n' "$epsilon" "$run" "$(tr -d '\n ' < "$trained/metrics.json")"
    printf 'epsilon %s run %s: closed form %s; %s; %s\n' "$epsilon" "$run" "$(tr -d '\n ' < "$closed/metrics.json")" \
      "$(grep -o "the proxy's choice is the [a-z ]*" "$trained.log")" \
      "$(grep -o 'squared distance to the proxy.*' "$trained.log")"
    printf 'epsilon %s run %s: moments alone %s\n' "$epsilon" "$run" "$(tr -d '\n ' < "$alone/metrics.json")"
  done
done
