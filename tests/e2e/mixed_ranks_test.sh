#!/usr/bin/env bash
# Ranks that hold records and ranks that train need not be the same: train.ranks. The first two of three train what two
# ranks alone train, bit for bit; the third waits, hears signals, and ends with the same exit code.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

embed=("${small[@]}" --insecure-seeded-noise 7)
settings=(--set train.steps=40)
ends 0 on 3 release "${embed[@]}" "${settings[@]}" --out "$work/release"
release=$work/release/release.mfl

# train N OUT ARGS...
train() { ends 0 on "$1" train "${small[@]}" "${settings[@]}" --release "$release" --out "${@:2}"; }
train 2 "$work/two"
train 3 "$work/two-of-three" --set train.ranks=2
check "two of three ranks train what two ranks alone do, bit for bit" cmp "$work/two/model.mfl" "$work/two-of-three/model.mfl"
check "and say so" grep -q '2 of 3 ranks train (train.ranks), on CPUs' "$work/log"
train 3 "$work/three"
check "three ranks round otherwise" test "$(sha256sum <"$work/two/model.mfl")" != "$(sha256sum <"$work/three/model.mfl")"
train 2 "$work/with-gpu" --set 'train.ranks="with-gpu"'
check "a wish for ranks with a GPU is fulfilled where none has one: by all, on CPUs" grep -q 'on CPUs' "$work/log"

# Wrong wishes.
expect_error 78 'train.ranks is 4, but the job has 3 ranks' 3 train "${small[@]}" --release "$release" --set train.ranks=4
expect_error 78 'train.ranks needs "all", "with-gpu" or a whole number' 1 train "${small[@]}" --release "$release" --set train.ranks=0
if [[ -z ${MUFFLE_HAS_GPU:-} ]]; then
  expect_error 78 'train.device = "cuda" promises a GPU to every rank, but ranks 0, 1 have none' 2 train "${small[@]}" --release "$release" --set 'train.device="cuda"'
  expect_error 78 'features.device = "cuda" promises a GPU to every rank, but rank 0 has none' 1 release "${small[@]}" --set 'features.device="cuda"'
fi

# A signal to the rank that waits, while the others train, stops all, with a checkpoint.
long=(train "${small[@]}" --set train.steps=4000 --set train.checkpoint_every_s=0 --release "$release" --set train.ranks=2 --out "$work/stopped")
rc=0
at train.step#3 wait on 3 "${long[@]}" >"$work/log" 2>&1 &
running=$!
hold
kill -USR1 "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$work/stopped/logs/rank-2.jsonl" | tail -1)"
let_go
wait "$running" || rc=$?
check "a signal to the rank that waits stops the training (exit $rc)" test "$rc" = 75
check "with a checkpoint" compgen -G "$work/stopped/checkpoint-*.mfl"
finish
