#!/usr/bin/env bash
# From a bare Debian 12 machine to synthetic FashionMNIST: installs, builds, and makes two generators of one release on 2 ranks: the closed
# form, in seconds, and a network that is trained on from there. The release is what epsilon = 1 pays for; neither generator costs more.
# launch/quickstart.sh [RUN_FOLDER [OPTIONS]]   (without one: out/fashion-mnist in this repository; OPTIONS, such as --set a.b=c, are for muffle)
# With MUFFLE_BINARY=FILE, a muffle that is built already, nothing is installed or built.
set -euo pipefail
out=out/fashion-mnist
if (($# > 0)); then
  out=$(realpath -m -- "$1") # before the change of folder: relative to the caller's
  shift
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${MUFFLE_BINARY:-} ]]; then
  launch/install-debian.sh
  launch/build.sh cpu --target muffle
fi
start=$SECONDS
job=(--config configs/fashion-mnist-init.toml)
launch/local.sh 2 run "${job[@]}" --set model.generator=moments --set train.init=random "$@" --out "$out"
# Few steps: scores of a longer training differ by no more than chance does (docs/explanation/moments.md, "What was measured"). `keep`: the
# network is written even if the proxy prefers the closed form, as both are to be seen.
launch/local.sh 2 train "${job[@]}" --set train.steps=120 --set train.decay_every=24 --set train.keep=trained "$@" \
  --release "$out/release.mfl" --out "$out/network"
for verb in sample evaluate; do launch/local.sh 2 "$verb" "${job[@]}" "$@" --out "$out/network"; done

# row NAME FOLDER: a classifier's accuracy is the first number of its part of metrics.json.
row() {
  local classifier line=
  for classifier in logistic_regression mlp cnn; do
    line+=$(sed -n "/\"$classifier\"/,/}/s/.*\"accuracy\": *\([0-9.]*\).*/\1/p" "$2/metrics.json" | head -n 1 | awk '{ printf "  %-19.3f", $1 }')
  done
  printf '%-20s%s  %s\n' "$1" "$line" "$2/samples.png"
}
echo "quickstart: of the real test images so many are recognised by classifiers that saw synthetic ones only; the pictures show these"
printf '%-20s  %-19s  %-19s  %-19s  %s\n' generator "logistic regression" MLP CNN picture
row "closed form" "$out"
row "network from there" "$out/network"
echo "quickstart: the job took $((SECONDS - start)) s; what it guarantees is in $out/privacy.txt"
