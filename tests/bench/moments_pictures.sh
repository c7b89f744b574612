#!/bin/bash
# How near the closed form's images come to FashionMNIST's, by finishing (docs/explanation/moments.md): one release of the first
# 50,000 training images at epsilon 1, or EPSILON; 20,000 samples a line, compared with the last 10,000. Test images are not read.
# usage: [TWELVE=1] [EPSILON=10.0] moments_pictures.sh MUFFLE OUT [DATADIR]   (TWELVE=1: three of the papers' classifiers too)
set -euo pipefail
muffle=${1:?usage: moments_pictures.sh MUFFLE OUT [DATADIR]}
out=${2:?usage: moments_pictures.sh MUFFLE OUT [DATADIR]}
data=${3:-/usr/share/datasets/fashion-mnist}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mkdir -p "$out/data"
# part FILE HEADER RECORD: the first 50,000 and the last 10,000 records of an IDX file of bytes.
part() {
  local file=$out/data/$1 header=$2 record=$3
  gzip -dc "$data/train-$1.gz" > "$file"
  { head -c 4 "$file"; printf '\0\0\303\120'; head -c "$header" "$file" | tail -c +9; head -c $((header + 50000 * record)) "$file" | tail -c +$((header + 1)); } > "$out/data/fit-$1"
  { head -c 4 "$file"; printf '\0\0\047\020'; head -c "$header" "$file" | tail -c +9; tail -c $((10000 * record)) "$file"; } > "$out/data/held-out-$1"
}
part images-idx3-ubyte 16 784
part labels-idx1-ubyte 8 1

job=(--config "$here/../../configs/fashion-mnist-moments.toml" --set "data.dir=\"$out/data\"" --set data.records=50000
  --set "privacy.epsilon=${EPSILON:-1.0}"
  --set data.features=fit-images-idx3-ubyte --set data.labels=fit-labels-idx1-ubyte
  --set data.test_features=held-out-images-idx3-ubyte --set data.test_labels=held-out-labels-idx1-ubyte
  --set sample.count=20000 --set 'evaluate.metrics=["classifiers","feature-distance"]'
  --set 'evaluate.classifiers=["logistic_regression","mlp","cnn"]')
"$muffle" release "${job[@]}" --out "$out" > "$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
while read -r plain floor outliers mixed stray sharpen; do
  folder=$out/plain-$plain-floor-$floor-outliers-$outliers-mixed-$mixed-stray-$stray-sharpen-$sharpen
  mkdir -p "$folder"
  line=("${job[@]}" --set "model.plain_share=$plain" --set "sample.floor=$floor" --set "sample.outliers=$outliers"
    --set "sample.mixed=$mixed" --set "sample.stray=$stray" --set "sample.sharpen=$sharpen" --out "$folder")
  { "$muffle" train "${line[@]}" --release "$out/release.mfl" && "$muffle" sample "${line[@]}" && "$muffle" evaluate "${line[@]}"; } > "$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; exit 1; }
  printf 'plain_share %s, floor %s, outliers %s, mixed %s, stray %s, sharpen %s: ' "$plain" "$floor" "$outliers" "$mixed" "$stray" "$sharpen"
  tr -d '\n ' < "$folder/metrics.json" | sed 's/,"format".*/}/'
  echo
  if [[ -n ${TWELVE:-} ]]; then
    "$here/twelve_classifiers.py" "$folder/samples.npz" "$data" --validate --only gaussian_nb,decision_tree,adaboost | tail -1
  fi
done << END
0.5 0.0 0.0 0.0 0.0 0.0
1.0 0.0 0.0 0.0 0.0 0.0
0.5 0.1 0.0 0.0 0.0 0.0
0.5 0.1 0.0 0.0 0.015 0.0
0.5 0.1 0.03 0.0 0.0 0.0
0.5 0.1 0.0 0.04 0.0 0.0
0.5 0.1 0.0 0.0 0.0 1.0
0.5 0.1 0.03 0.04 0.015 0.0
0.5 0.1 0.03 0.04 0.015 1.0
0.25 0.1 0.03 0.04 0.015 1.0
END
