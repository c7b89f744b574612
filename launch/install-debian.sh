#!/usr/bin/env bash
# Installs what muffle is built from, run with and tested on: Debian 12 or newer, or Ubuntu 24.04 or newer.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config git
  libtorch-dev libopenblas-dev libopenmpi-dev openmpi-bin libeigen3-dev libcli11-dev libspdlog-dev libfmt-dev
  libsodium-dev libsleef-dev nlohmann-json3-dev libtomlplusplus-dev zlib1g-dev libpng-dev libzip-dev
  libgtest-dev libgmock-dev libbenchmark-dev clang libclang-rt-dev
  dataset-fashion-mnist
)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
if ((${#missing[@]} == 0)); then
  echo "install: everything is there"
  exit 0
fi

root=()
if (($(id -u) != 0)); then
  command -v sudo >/dev/null || { echo "install: needs root or sudo for: apt-get install ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "install: ${missing[*]}"
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "install: done"
