#!/usr/bin/env bash
# From a bare Debian 12 machine to synthetic FashionMNIST: installs, builds, and runs the main job on 2 ranks.
# launch/quickstart.sh [RUN_FOLDER]   (without it: out/fashion-mnist in this repository)
set -euo pipefail
out=out/fashion-mnist
(($# == 0)) || out=$(realpath -m -- "$1") # before the change of folder: relative to the caller's
cd "$(dirname "${BASH_SOURCE[0]}")/.."

launch/install-debian.sh
launch/build.sh cpu --target muffle
start=$SECONDS
launch/local.sh 2 run --config configs/fashion-mnist.toml --out "$out"
echo "quickstart: the job took $((SECONDS - start)) s; see $out/samples.png, $out/metrics.json and $out/privacy.txt"
