#!/usr/bin/env bash
# Every bad input ends in one paragraph, the documented exit code, no hang, on every rank,
# and nothing half-written; on 1 rank and on several. (A rank that dies: lost_rank_test.sh.)
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

several=()
for n in "${rank_counts[@]}"; do ((n > 1)) && several+=("$n"); done
readonly bad=$work/bad
mkdir "$bad"
{ zcat "$DATA/train-images-idx3-ubyte.gz" || true; } | head -c 40000000 >"$bad/a"
head -c 3000000 "$DATA/t10k-images-idx3-ubyte.gz" >"$bad/b"
{ idx 0x7fffffff 0x7fffffff 0x7fffffff; head -c 1000 "$bad/a"; } >"$bad/c"
printf 'just some words' >"$bad/d"

# The files' names say nothing, so that it is the message that is matched: what is wrong and what to do.
wrong_files_and_settings() {
  local n epsilon
  for n in 1 "${rank_counts[-1]}"; do
    expect_error 65 "bad/a' has fewer bytes than its header declares: it is truncated.*Copy or download" "$n" \
      release "${small[@]}" --data "$bad/a"
    expect_error 65 "bad/b' is truncated: its compressed data ends in the middle.*Copy or download" "$n" \
      release "${small[@]}" --data "$bad/b" --labels "$DATA/t10k-labels-idx1-ubyte.gz" --set data.records=10000
    expect_error 65 "bad/c' declares more elements than any file can hold.*Copy or download" "$n" release "${small[@]}" --data "$bad/c"
    expect_error 65 "bad/d' is not an IDX file.*Is it the right file" "$n" release "${small[@]}" --data "$bad/d"
    expect_error 65 'label outside 0\.\.6 .*correct the schema' "$n" release "${small[@]}" --set data.classes=7
    expect_error 65 'holds [16]0000 records, the configuration says 59999\..*correct whichever is wrong' "$n" \
      release "${small[@]}" --set data.records=59999
    expect_error 74 "cannot read '.*/bad/e': No such file or directory\. Check the data folder" "$n" release "${small[@]}" --data "$bad/e"
    # Of several ranks, one of each code: how they end together does not depend on what is wrong.
    if [[ -z $thorough ]] && ((n > 1)); then
      expect_error 78 'privacy\.delta needs a number from .*, not 1\.' "$n" release "${small[@]}" --delta 1
      expect_error 2 'no-such-flag. is no option of .muffle release.*See .muffle release --help' "$n" release "${small[@]}" --no-such-flag
      continue
    fi
    for epsilon in 0 -1 nan; do
      expect_error 78 "epsilon is $epsilon, not a number from .*Correct the configuration" "$n" release "${small[@]}" --epsilon "$epsilon"
    done
    expect_error 78 'privacy\.delta needs a number from .*, not 1\.' "$n" release "${small[@]}" --delta 1
    expect_error 78 'did you mean .privacy.epsilon' "$n" release "${small[@]}" --set privacy.epsilom=1
    expect_error 78 'max_records_per_person is missing or 0: say how many' "$n" release "${small[@]}" --set privacy.max_records_per_person=0
    expect_error 78 'both epsilon and a noise multiplier are given.*keep one' "$n" release "${small[@]}" --set privacy.noise_multiplier=3
    expect_error 2 'no-such-flag. is no option of .muffle release.*See .muffle release --help' "$n" release "${small[@]}" --no-such-flag
  done
}

# A configuration, or a command line, that differs between ranks: the message names the key and both values.
differing() {
  local folder=$1 n=$2
  shift 2
  rm -rf "$folder" && mkdir -p "$folder"
  local rank=(bash "$(dirname "${BASH_SOURCE[0]}")/record_rank.sh" "$folder" "$MUFFLE" "$@")
  timeout -k 5 300 "$MPIEXEC" "${mpi_flags[@]}" -n $((n - 1)) "${rank[@]}" : -n 1 "${rank[@]}" "${last_rank[@]}"
}
ranks_that_differ() {
  local n run_with=differing last_rank
  for n in "${several[@]}"; do
    last_rank=(--set map.rff.seed=99)
    expect_error 78 "map.rff.seed is 1 on rank 0 and 99 on rank $((n - 1))" "$n" release "${small[@]}"
    last_rank=(--set privacy.epsilom=1)
    expect_error 78 "rank $((n - 1)).*did you mean .privacy.epsilon" "$n" release "${small[@]}"
    last_rank=(--no-such-flag)
    expect_error 2 "rank $((n - 1)).*no-such-flag" "$n" release "${small[@]}"
    last_rank=(--data "$bad/a")
    expect_error 78 "data\.features is not the same on ranks 0 and $((n - 1)) " "$n" release "${small[@]}"
  done
}

# A shard that only the last rank finds bad: that rank alone names the file, and all end with its code.
shards_apart() {
  local n r last shards
  mkdir "$work/apart"
  for r in 0 1 2; do
    fashion $((100 * r)) 100 "$work/apart/x-$r" "$work/apart/y-$r"
  done
  for n in "${several[@]}"; do
    last=$work/apart/x-$((n - 1)) shards=(--data "$work/apart/x-{rank}" --labels "$work/apart/y-{rank}" --set "data.records=${n}00")
    expect_error 65 "shards hold ${n}00 records together, but data.records says 99" "$n" release "${small[@]}" "${shards[@]}" --set data.records=99
    expect_error 78 'data.labels and data.features go together' "$n" release "${small[@]}" "${shards[@]:0:2}" \
      --labels "$work/apart/y-0"
    cp "$last" "$work/apart/whole"
    head -c 40000 "$work/apart/whole" >"$last"
    expect_error 65 "rank $((n - 1)): .*x-$((n - 1))' has fewer bytes than its header declares.*Copy or download" "$n" release "${small[@]}" "${shards[@]}"
    cp "$work/apart/whole" "$last"
    cp "$work/apart/y-$((n - 1))" "$work/apart/labels"
    printf '\x0a' | dd of="$work/apart/y-$((n - 1))" bs=1 seek=50 conv=notrunc status=none
    expect_error 65 "rank $((n - 1)): .*x-$((n - 1))' and .*y-$((n - 1))' does not fit.*label outside 0\.\.9 " "$n" release "${small[@]}" "${shards[@]}"
    cp "$work/apart/labels" "$work/apart/y-$((n - 1))"
  done
}

# An output folder that cannot be: below a file (root may write anywhere else). Nothing is left beside that file or in it.
no_folder() {
  mkdir "$work/below" && touch "$work/below/f"
  local n to=$work/below/f/out
  for n in "${rank_counts[@]}"; do
    expect_error 74 "cannot create the folder '$to': .*Choose another output folder" "$n" release "${small[@]}"
    check "nothing is left around it" test "$(cd "$work/below" && find . -type f -size 0)$(find "$work/below" -mindepth 1 | wc -l)" = ./f1
  done
}

# An error text that is no UTF-8; a standard error that is closed, gone or full: the exit code stands.
standard_streams() {
  local n rc muffle streams
  for n in 1 2; do
    expect_error 74 'No such file or directory\. Check the data folder' "$n" release "${small[@]}" --data "$bad/"$'\xff\xfe'
    for streams in '2>&-' '2>/dev/full' '2> >(exec true)' '<&- >&- 2>&-'; do
      rc=0 muffle=$MUFFLE
      MUFFLE=bash
      on "$n" -c "exec \"\$@\" $streams" _ "$muffle" release "${small[@]}" --epsilon 0 --out "$work/closed" >"$work/log" 2>&1 || rc=$?
      MUFFLE=$muffle
      check "exit 78 with $streams on $n rank(s)" test "$rc" = 78
    done
  done
  rc=0
  "$MUFFLE" config-keys >/dev/full 2>"$work/log" || rc=$?
  check "output that cannot be written is 74" test "$rc" = 74
}

# An artifact with a flipped byte.
flipped_bytes() {
  local n at damage size
  mkdir "$work/flip"
  ends 0 on 1 release "${small[@]}" --out "$work/flip"
  size=$(stat -c %s "$work/flip/release.mfl")
  for at in 3 20 $((size / 2)) $((size - 1)); do
    flip "$work/flip/release.mfl" "$at" 1 "$work/flip/g"
    damage="its checksum does not match its content"
    ((at == 3)) && damage="its first bytes are not muffle's"
    for n in 1 "${rank_counts[-1]}"; do
      expect_error 76 "flip/g' is not an intact muffle-release file: $damage.*must not be drawn again" "$n" \
        train "${small[@]}" --release "$work/flip/g"
    done
  done
  for n in 1 "${rank_counts[-1]}"; do
    expect_error 74 "cannot read '.*nothing.mfl': No such file" "$n" train "${small[@]}" --release "$work/nothing.mfl"
  done
}

side_by_side wrong_files_and_settings 'ranks_that_differ no_folder' 'shards_apart standard_streams flipped_bytes'
