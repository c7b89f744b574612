#!/usr/bin/env bash
# The configuration that README.md prints under "Your own data" loads as it stands, and runs on somebody's files; so do the commands of
# docs/tutorial/your-own-data.md with it.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readme=$(dirname "${BASH_SOURCE[0]}")/../../README.md
mine=$work/mine.toml
# shellcheck disable=SC2016
sed -n '/^## Your own data/,/^## /{/^```toml$/,/^```$/{/^```/!p}}' "$readme" >"$mine"
check "README.md has the block" grep -q '^features = ' "$mine"
ends 0 "$MUFFLE" plan --config "$mine"

# What it describes, in small: N x 32 x 32 bytes and labels 0..3.
records=200
{ idx $records 32 32; head -c $((records * 1024)) /dev/urandom; } | gzip >"$work/scans.idx.gz"
{ idx $records; for ((i = 0; i < records; i++)); do printf %b "\\x0$((i % 4))"; done; } >"$work/diagnoses.idx"
job=(--config "$mine" --set "privacy.ledger=$work/ledger" --set "data.features=$work/scans.idx.gz" --set "data.labels=$work/diagnoses.idx" --set "data.records=$records"
  --set map.main.count=100 --set train.steps=4 --set train.batch=40 --set sample.count=60)

says 0 'is left out, as there is nothing to test on: data.test_features' on 2 run "${job[@]}" --out "$work/run"
there "$work/run" release.mfl privacy.txt model.mfl samples.npz samples.png
check "there are no scores" test ! -e "$work/run/metrics.json"
for verb in release train sample; do ends 0 on 1 "$verb" "${job[@]}" --out "$work/apart"; done
expect_error 78 'data.test_features' 2 evaluate "${job[@]}" --samples "$work/run/samples.npz"

# The other way that its comment names: one file a rank.
gunzip -k "$work/scans.idx.gz"
for r in 0 1; do
  { idx $((records / 2)) 32 32; tail -c +17 "$work/scans.idx" | tail -c +$((r * records * 512 + 1)) | head -c $((records * 512)); } >"$work/shard-$r.idx" || true
  { idx $((records / 2)); tail -c +9 "$work/diagnoses.idx" | tail -c +$((r * records / 2 + 1)) | head -c $((records / 2)); } >"$work/labels-$r.idx" || true
done
ends 0 on 2 release "${job[@]}" --data "$work/shard-{rank}.idx" --labels "$work/labels-{rank}.idx" --out "$work/shards"
sed -E "s|^features = .*|features = \"$work/shard-{rank}.idx\"|; s|^labels = .*|labels = \"$work/labels-{rank}.idx\"|
  s|^records = .*|records = $records|; s|^count = .*|count = 100|; s|^ledger = .*|ledger = \"$work/ledger\"|" "$mine" >"$work/apart.toml"
ends 0 on 2 release --config "$work/apart.toml" --out "$work/shards-in-file"
check "it is the same data" grep -q 'shards = "per-rank"' "$work/shards-in-file/config.resolved.toml"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
walk=$work/walk
mkdir -p "$walk/build/cpu/bin"
ln -s "$here/../../launch" "$walk"
ln -s "$MUFFLE" "$walk/build/cpu/bin/muffle"
{
  sed -E "s|/secure/|$work/|; s|^records = .*|records = $records|; s|^count = .*|count = 100|; s|$work/scans-2026|$walk/scans-2026|" "$mine"
  printf '[train]\nsteps = 4\nbatch = 40\n[sample]\ncount = 60\n'
} >"$walk/mine.toml"
check "docs/tutorial/your-own-data.md" python3 "$here/page.py" "$here/../../docs/tutorial/your-own-data.md" "$walk" "/secure=$walk"
there "$walk/out/mine" release.mfl privacy.txt model.mfl samples.npz samples.png
finish
