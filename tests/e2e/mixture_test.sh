#!/usr/bin/env bash
# The 2-D mixture's job, small: muffle makes the data, and the score has both conventions.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=$work/mixture
on 2 run --config "$CONFIGS/gaussian-mixture-2d.toml" --set features.count=200 --set train.steps=20 --set sample.count=2000 \
  --out "$out" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the mixture's run"; }
for f in release.mfl model.mfl samples.npz samples.png metrics.json; do check "$f is there" test -s "$out/$f"; done
check "both conventions are reported" grep -q 'per_90000_authors_convention' "$out/metrics.json"
check "and the true one" grep -q 'per_90000_true' "$out/metrics.json"
finish
