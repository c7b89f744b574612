#!/usr/bin/env bash
# Every bad input ends in one paragraph, the documented exit code, no hang, and nothing half-written; on 1 and 2 ranks.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mkdir "$work/bad"
zcat "$DATA/train-images-idx3-ubyte.gz" >"$work/bad/images"
zcat "$DATA/train-labels-idx1-ubyte.gz" >"$work/bad/labels"
head -c 40000000 "$work/bad/images" >"$work/bad/truncated"
head -c 9000000 "$DATA/train-images-idx3-ubyte.gz" >"$work/bad/truncated.gz"
{ printf '\x00\x00\x08\x03\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff'; head -c 1000 "$work/bad/images"; } >"$work/bad/lying"
printf 'not an IDX file at all, just some text' >"$work/bad/text"

for n in 1 2; do
  expect_error 65 'truncated' $n release "${small[@]}" --data "$work/bad/truncated"
  expect_error 65 'truncated.gz' $n release "${small[@]}" --data "$work/bad/truncated.gz"
  expect_error 65 'lying' $n release "${small[@]}" --data "$work/bad/lying"
  expect_error 65 'text' $n release "${small[@]}" --data "$work/bad/text"
  expect_error 65 'label' $n release "${small[@]}" --set data.classes=7
  expect_error 65 '59999' $n release "${small[@]}" --set data.records=59999
  expect_error 74 'no-such-file|cannot' $n release "${small[@]}" --data "$work/bad/no-such-file"
  expect_error 78 'epsilon' $n release "${small[@]}" --epsilon 0
  expect_error 78 'epsilon' $n release "${small[@]}" --epsilon -1
  expect_error 78 'epsilon' $n release "${small[@]}" --epsilon nan
  expect_error 78 'delta' $n release "${small[@]}" --delta 1
  expect_error 78 'did you mean .privacy.epsilon' $n release "${small[@]}" --set privacy.epsilom=1
  expect_error 78 'max_records_per_person' $n release "${small[@]}" --set privacy.max_records_per_person=0
  expect_error 78 'noise.multiplier' $n release "${small[@]}" --set privacy.noise_multiplier=3
  expect_error 2 'help' $n release "${small[@]}" --no-such-flag
done

# A configuration that differs between ranks: the message names the key and both values.
differing() {
  shift
  timeout -k 5 300 "$MPIEXEC" "${mpi_flags[@]}" -n 1 "$MUFFLE" "$@" : -n 1 "$MUFFLE" "$@" --set features.seed=99
}
run_with=differing
expect_error 78 'features.seed is 1 on rank 0 and 99 on rank 1' 2 release "${small[@]}"
unset run_with

# An output folder that cannot be: below a file (root may write anywhere else).
touch "$work/bad/a-file"
for n in 1 2; do
  rc=0
  on "$n" release "${small[@]}" --out "$work/bad/a-file/out" >"$work/log" 2>&1 || rc=$?
  check "an unwritable run folder ends with 74 on $n rank(s)" test "$rc" = 74
  check "and is named" grep -q 'a-file/out' "$work/log"
done

# An artifact with a flipped byte.
mkdir "$work/flip"
on 1 release "${small[@]}" --out "$work/flip" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "a release to damage"; }
size=$(stat -c %s "$work/flip/release.mfl")
for at in 3 20 $((size / 2)) $((size - 1)); do
  cp "$work/flip/release.mfl" "$work/flip/damaged.mfl"
  byte=$(od -An -tu1 -j "$at" -N1 "$work/flip/damaged.mfl" | tr -d ' ')
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $((byte ^ 1)))" | dd of="$work/flip/damaged.mfl" bs=1 seek="$at" conv=notrunc status=none
  for n in 1 2; do expect_error 76 'damaged.mfl' $n train "${small[@]}" --release "$work/flip/damaged.mfl"; done
done
finish
