#!/usr/bin/env bash
# Second moments through the built release: colour images in CIFAR's format, made here by rule; alone and beside random
# features; labelled, unlabelled, and with m kept private.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# 600 records of 3 x 8 x 8 in three files: labels 0..2, a ramp that depends on label, channel and place.
mkdir "$work/data"
awk 'BEGIN { for (i = 0; i < 600; ++i) { printf "%d", i % 3; for (p = 0; p < 192; ++p)
  printf " %d", ((i % 3) * 60 + (i * 7 + p * (1 + i % 3)) % 90); print "" } }' >"$work/data/numbers"
for part in 0 1 2; do
  head -n $((200 * (part + 1))) "$work/data/numbers" | tail -n 200 | tr ' ' '\n' |
    LC_ALL=C awk '{ printf "%c", $1 + 0 }' >"$work/data/part-$part.bin"
done
check "the files have 200 records each" test "$(stat -c %s "$work/data/part-0.bin" "$work/data/part-1.bin" "$work/data/part-2.bin" | sort -u)" = 38600
cat >"$work/colour.toml" <<EOF
[data]
format = "cifar"
dir = "$work/data"
features = "part-0.bin, part-1.bin, part-2.bin"
records = 600
classes = 3
shape = [3, 8, 8]
[privacy]
epsilon = 5.0
max_records_per_person = 1
[model]
generator = "fully-connected"
hidden = [20]
[train]
steps = 5
batch = 60
[sample]
count = 90
[evaluate]
metrics = []
[runtime]
deadline_s = 60.0
EOF
job=(--config "$work/colour.toml")
moments=(--set map.moments.kind=moments --set map.moments.lift=image --set map.moments.coefficients=4 --set map.moments.weight=2.0)
rff=(--set map.rff.kind=rff --set map.rff.count=40 --set map.rff.length_scale=5.0)
both=("${moments[@]}" "${rff[@]}")

ends 0 on 2 run "${job[@]}" "${both[@]}" --out "$work/both"
there "$work/both" samples.npz
ends 0 "$MUFFLE" verify "$work/both/release.mfl" --allow-unsigned
check "verify names both maps" grep -qE '^ +pass +maps +moments \(moments\) with a non-negative kernel and norm at most 2, rff \(rff\) with a signed kernel' "$work/log"
# sqrt(2 w^2 + 4) with w = 2.
check "the sensitivity is that of both maps" test "$(number sensitivity "$work/both/privacy.json" | cut -c1-7)" = 3.46410

# The same noise on any number of ranks: the same released numbers.
for n in 1 2; do
  ends 0 on "$n" release "${job[@]}" "${moments[@]}" --set model.generator=moments --insecure-seeded-noise 7 \
    --out "$work/alone-$n"
  tail -c $((8 * 3 * 1225 + 32)) "$work/alone-$n/release.mfl" | head -c -32 | sha256sum >"$work/sum-$n"
done
check "1 and 2 ranks release the same numbers" cmp -s "$work/sum-1" "$work/sum-2"

# However few records and however much noise, a job runs to its end, and has said before the charge what to expect.
drowned=("${job[@]}" "${moments[@]}" --set model.generator=moments --set privacy.epsilon=0.002)
says 0 'noise leaves about .* of what tells classes apart' on 2 run "${drowned[@]}" --out "$work/drowned"
there "$work/drowned" samples.npz
ends 0 on 2 run "${drowned[@]}" --set privacy.adjacency=add-remove-one --set data.records=0 --set data.id=drowned --out "$work/drowned-private"
there "$work/drowned-private" samples.npz
says 0 'outlook +with 4 x 4 coefficients noise leaves about' "$MUFFLE" plan "${job[@]}" "${moments[@]}" --set model.generator=moments
check "moments alone have sensitivity sqrt(2) times their weight" test "$(number sensitivity "$work/alone-1/privacy.json" | cut -c1-7)" = 2.82842

says 78 'needs a release with a feature map that it can be trained on' on 1 train "${job[@]}" --release "$work/alone-1/release.mfl" \
  --out "$work/trained"

for maps in moments rff both; do
  declare -n these=$maps
  generator=$([[ $maps == moments ]] && echo moments || echo fully-connected)
  ends 0 on 2 release "${job[@]}" "${these[@]}" --set "model.generator=$generator" --set data.classes=1 --out "$work/unlabelled-$maps"
  ends 0 "$MUFFLE" verify "$work/unlabelled-$maps/release.mfl" --allow-unsigned
done

ends 0 on 2 release "${job[@]}" "${both[@]}" --set data.records=0 --set privacy.adjacency=add-remove-one \
  --set data.id=people-private --out "$work/private"
ends 0 "$MUFFLE" verify "$work/private/release.mfl" --allow-unsigned
expect_error 78 "release_counts" 1 release "${job[@]}" "${rff[@]}" --set data.records=0 --set privacy.adjacency=add-remove-one

ends 0 on 3 release "${job[@]}" "${both[@]}" --secure-aggregation --distributed-noise --out "$work/masked"
ends 0 "$MUFFLE" verify "$work/masked/release.mfl" --allow-unsigned

ends 0 "$MUFFLE" plan "${job[@]}" "${both[@]}"
check "it shows both maps" test "$(grep -cE '^  map (moments|rff) ' "$work/log")" = 2
printf 'x' >>"$work/data/part-2.bin"
expect_error 65 "not a whole number of records" 2 release "${job[@]}" "${both[@]}"
finish
