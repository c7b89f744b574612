#!/usr/bin/env bash
# Inside of a container to be, Debian 12 with apt: installs the package that lies in /tmp. Of both recipes, muffle.def and Containerfile.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends /tmp/muffle_*.deb
rm -rf /tmp/muffle_*.deb /var/lib/apt/lists/*
apt-get clean
