#!/usr/bin/env bash
# Installs what muffle is built from and run with: on Debian 12, and on Ubuntu 26.04. Ubuntu 24.04 has no LibTorch package.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config git
  libtorch-dev libopenblas-dev libopenmpi-dev openmpi-bin libeigen3-dev libcli11-dev libspdlog-dev libfmt-dev
  libsodium-dev libgfshare-dev libsleef-dev nlohmann-json3-dev libtomlplusplus-dev zlib1g-dev libpng-dev libjpeg-dev libzip-dev libhdf5-dev libcsv-dev libutf8proc-dev liblinear-dev libxgboost-dev
  libcurl4-openssl-dev libssl-dev
  libgtest-dev libgmock-dev libhowardhinnant-date-dev libbenchmark-dev clang libclang-rt-dev libomp-dev
  iproute2 procps python3 python3-numpy dataset-fashion-mnist
)
# What tests/lint.sh runs, in the versions it is pinned to; newer distributions do not have these versions.
lint=(clang-format-14 clang-tidy-14 shellcheck)

# elsewhere WHY: what a person needs to know to go on without this script.
elsewhere() {
  echo "install: $1. muffle is built from, by Debian's names: ${packages[*]}" >&2
  echo "install: other systems' names for these, and what was tried where: docs/how-to/other-systems.md" >&2
  exit 1
}
command -v apt-get >/dev/null || elsewhere "this is neither Debian nor Ubuntu: there is no apt-get"

# Boost.Beast of 1.81 or newer: Debian 12 has it beside an older default.
if apt-cache show libboost1.81-dev >/dev/null 2>&1; then packages+=(libboost1.81-dev); else packages+=(libboost-dev); fi

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }
missing=() missing_lint=()
for p in "${packages[@]}"; do installed "$p" || missing+=("$p"); done
for p in "${lint[@]}"; do installed "$p" || missing_lint+=("$p"); done
if ((${#missing[@]} + ${#missing_lint[@]} == 0)); then
  echo "install: everything is there"
  exit 0
fi

root=()
if (($(id -u) != 0)); then
  if ! command -v sudo >/dev/null; then
    if ((${#missing[@]} == 0)); then exit 0; fi
    echo "install: needs root or sudo for: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  root=(sudo)
fi
apt=(apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300) # a mirror that fails now and then; another apt at work
"${root[@]}" "${apt[@]}" update -qq
for p in "${missing[@]}"; do
  apt-cache show "$p" >/dev/null 2>&1 || elsewhere "this distribution has no package $p; muffle was built on Debian 12 and Ubuntu 26.04"
done
for p in "${missing_lint[@]}"; do
  if apt-cache show "$p" >/dev/null 2>&1; then missing+=("$p"); else echo "install: this distribution has no $p; tests/lint.sh will skip it"; fi
done
if ((${#missing[@]} == 0)); then exit 0; fi
echo "install: ${missing[*]}"
"${root[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "install: done"
