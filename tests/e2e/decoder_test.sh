#!/usr/bin/env bash
# A decoder that is learned in rounds, as a user meets it: the plan says what it costs, any ranks find the same bits, with masks or without, a job that is cut off goes on,
# verify works the rounds out again, and between institutions it is refused before anything is charged.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python3 "$(dirname "${BASH_SOURCE[0]}")/colour_shapes.py" "$work/data" 600 200 8
cat >"$work/job.toml" <<EOF
[data]
format = "cifar"
dir = "$work/data"
features = "train.bin"
test_features = "test.bin"
records = 600
classes = 10
shape = [3, 8, 8]
lo = 0.0
hi = 255.0
[map.decoder]
kind = "decoder-step"
components = 9
rounds = 4
hidden = 6
weight = 0.5
[map.moments]
kind = "moments"
[privacy]
epsilon = 5.0
delta = 1e-5
max_records_per_person = 1
[model]
generator = "coded"
[sample]
count = 200
formats = ["npz"]
[evaluate]
metrics = ["classifiers"]
classifiers = ["logistic_regression"]
[runtime]
deadline_s = 60.0
EOF
job=(--config "$work/job.toml")

# 6 x (9 + 1 + 192) numbers a round; the moments, along whose axes codes lie, are released in one before.
says 0 'in 5 rounds, charged together' "$MUFFLE" plan "${job[@]}" --set map.decoder.rounds=4
check "the plan has the decoder's numbers, and says what their noise is" grep -q 'map decoder-1 (1212 features' "$work/log"
check "once" test "$(grep -c 'map decoder-' "$work/log")" = 1
check "beside records that agree" grep -q '4 rounds, charged together. The noise in each' "$work/log"
ends 0 on 2 run "${job[@]}" --out "$work/run"
there "$work/run" release.mfl privacy.txt model.mfl samples.npz metrics.json
says 0 'what each of 5 rounds sums' "$MUFFLE" verify --allow-unsigned "$work/run/release.mfl"
check "one charge pays for all rounds" bash -c "test \"\$(cat '$work'/ledger-*.jsonl | grep -c INTENT)\" = 1"

# The same sums, and so the same decoders, for any ranks and threads, with masks or without: bit for bit.
bare=(release "${job[@]}" --insecure-no-noise)
for n in 1 2 3; do
  ends 0 on "$n" "${bare[@]}" --set runtime.threads=$((4 - n)) --out "$work/bare-$n"
  check "$n ranks find what one finds" test "$(payload "$work/bare-$n/release.mfl")" = "$(payload "$work/bare-1/release.mfl")"
done
ends 0 on 3 "${bare[@]}" --set privacy.secure_aggregation=true --out "$work/masked"
check "masks change nothing" test "$(payload "$work/masked/release.mfl")" = "$(payload "$work/bare-1/release.mfl")"
# Cut off between two rounds a job goes on, on other ranks.
ends 137 at rename@release.mfl.rounds#2 kill-after on 1 "${bare[@]}" --out "$work/cut"
says 0 'goes on after 2 of 5 rounds' on 2 "${bare[@]}" --out "$work/cut"
check "and finds the same" test "$(payload "$work/cut/release.mfl")" = "$(payload "$work/bare-1/release.mfl")"

# Codes that the lift makes need no round before.
lift=(--set map.decoder.components=0 --set map.decoder.coefficients=3)
says 0 'map decoder-1 .1320 features' "$MUFFLE" plan "${job[@]}" "${lift[@]}"
ends 0 on 2 run "${job[@]}" "${lift[@]}" --out "$work/lifted"
says 0 'what each of 4 rounds sums' "$MUFFLE" verify --allow-unsigned "$work/lifted/release.mfl"
# More axes than there are is refused before a record is read.
cat "$work"/ledger-*.jsonl | grep -c INTENT >"$work/charges"
says 78 'use as many components at most' on 1 run "${job[@]}" --set map.decoder.components=190 --out "$work/more"
check "and nothing is charged" bash -c "test ! -e '$work/more/release.mfl' && test \"\$(cat '$work'/ledger-*.jsonl | grep -c INTENT)\" = \$(cat '$work/charges')"

# Under add/remove-one the counts stand for the number of records.
ends 0 on 2 release "${job[@]}" --set privacy.adjacency=add-remove-one --set data.records=0 --set data.id=private-m --out "$work/private-m"
says 0 'what each of 5 rounds sums' "$MUFFLE" verify --allow-unsigned "$work/private-m/release.mfl"

# An audit attacks all rounds side by side, by smaller decoders as they begin.
says 0 "verdict" on 1 audit "${job[@]}" --features 2 --set map.decoder.components=1 --set map.moments.coefficients=1 --trials 200 --confidence 0.999999999

finish
