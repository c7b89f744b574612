#!/usr/bin/env bash
# Configures and builds a preset: launch/build.sh [cpu|cuda|asan|tsan] [cmake --build options]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-cpu}
shift || true
cmake --preset "$preset" >"$(mkdir -p build && echo build)/configure-$preset.log" 2>&1 ||
  { cat "build/configure-$preset.log" >&2; exit 1; }
start=$SECONDS
cmake --build --preset "$preset" "$@"
echo "build: preset $preset in $((SECONDS - start)) s"
