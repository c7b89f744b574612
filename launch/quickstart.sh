#!/usr/bin/env bash
# From a bare Debian 12 machine to synthetic FashionMNIST: installs, builds, and runs the main job on 2 ranks.
# launch/quickstart.sh [RUN_FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${1:-out/fashion-mnist}
launch/install-debian.sh
launch/build.sh cpu --target muffle
start=$SECONDS
launch/local.sh 2 run --config configs/fashion-mnist.toml --out "$out"
echo "quickstart: the job took $((SECONDS - start)) s; see $out/samples.png, $out/metrics.json and $out/privacy.txt"
