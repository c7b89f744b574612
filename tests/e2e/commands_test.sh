#!/usr/bin/env bash
# How the commands behave around one small job: what they need, refuse, keep, make again and print. Every run takes a
# second or two: 60 records of 4 x 4 pixels.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# begin: x.idx, y.idx: 60 images of 1 x 4 x 4, labels 0..2 in turn, and the settings of a job on them.
begin() {
  data=$work/data
  mkdir "$data"
  { idx 60 4 4; head -c 960 /dev/zero | tr '\0' 'x'; } >"$data/x.idx"
  { idx 60; printf '\x00\x01\x02%.0s' {1..20}; } >"$data/y.idx"
  release=("${tiny[@]}" --set data.classes=3)
  records=(--data "$data/x.idx" --labels "$data/y.idx")
  train=(--set train.steps=3 --set train.batch=20 --set 'model.hidden=[8]' --set 'model.channels=[4,2]')
  sample=(--set sample.count=60)
  job=("${release[@]}" "${records[@]}" "${train[@]}" "${sample[@]}")
}
# shellcheck disable=SC2016
no_room() { bash -c 'trap "" XFSZ; ulimit -f 500; exec "$0" "$@"' "$MUFFLE" "$@"; }
hashes() { (cd "$1" && sha256sum release.mfl model.mfl samples.npz); }

# No configuration file, no test data: the samples are made and nobody scores them.
one_run() {
  run=$work/run
  says 0 'is left out, as there is nothing to test on' on 2 run "${job[@]}" --out "$run"
  made=$(hashes "$run")

  # What is lost, damaged or edited is made again, and comes out the same; the release is never drawn twice.
  for accident in "rm $run/samples.npz" "truncate -s 100 $run/samples.npz" "cp $run/release.mfl $run/model.mfl" "rm $run/samples.png"; do
    $accident
    says 0 '(train|sample): begins' on 2 run "${job[@]}" --out "$run"
    check "made again after: ${accident%% *}" test "$made" = "$(hashes "$run")" -a -s "$run/samples.png"
  done

  # What launch/local.sh asks for: a job that ends in order leaves its code in a file, and every rank ends with 0.
  : >"$work/code"
  MUFFLE_EXIT_FILE=$work/code each "$work/ended" 2 run "${job[@]}" --set no.such=1 --out "$work/ended-run" >"$work/log" 2>&1 || fail "mpirun ends with $?"
  check "the code is in the file" test "$(<"$work/code") $(cat "$work"/ended/*.code | tr '\n' ' ')" = "78 0 0 "

  # Refused and dry runs leave the description of what is there alone; training leaves the release's alone.
  resolved=$(sha256sum "$run/config.resolved.toml")
  says 78 'never overwritten' on 1 run "${job[@]}" --epsilon 2 --out "$run"
  says 78 'never overwritten' on 1 release "${job[@]}" --epsilon 2 --dry-run --out "$run"
  says 0 'is there already' on 1 release "${job[@]}" --set data.id=other --set "privacy.ledger=$work/other" --dry-run --out "$run"
  says 78 'private release' on 1 release "${release[@]}" "${records[@]}" --insecure-seeded-noise 1 --out "$run"
  says 65 'holds 60 records, the configuration says 61' on 1 release "${release[@]}" "${records[@]}" --set data.records=61 --out "$work/wrong-m"
  check "a refused run describes nothing" test ! -e "$work/wrong-m/config.resolved.toml"
  check "config.resolved.toml is as it was" test "$resolved" = "$(sha256sum "$run/config.resolved.toml")"

  # train, sample: their own settings and one file. From another folder, knowing nothing of the records.
  mkdir "$work/apart"
  cp "$run/release.mfl" "$work/apart"
  says 0 'train: ' on 2 train "${train[@]}" --out "$work/apart"
  says 0 'sample: ' on 1 sample "${sample[@]}" --out "$work/apart"
  check "the model and the samples are those of the whole job" \
    test "$(sed 1d <<<"$made")" = "$(hashes "$work/apart" | sed 1d)"
  check "config.resolved.toml has no settings of a release that was made elsewhere" \
    test "$(grep -c '^\[privacy\]' "$work/apart/config.resolved.toml")" = 0

  # Samples for which there is no room, or that nobody means: refused before the earlier ones are touched.
  says 74 'there is no room' no_room sample --set sample.count=100000 --out "$run"
  says 74 'there is no room' "$MUFFLE" sample --set sample.count=4000000000 --set 'sample.formats=["png"]' --out "$run"
  check "the earlier samples are as they were" test "$made" = "$(hashes "$run")" -a -s "$run/samples.json" -a ! -e "$run/.samples.tmp"

  # Labels by counts that no release told.
  says 78 'without class counts' on 1 sample --set sample.count=60 --set sample.labels=released-counts --out "$run"

  # Records outside the schema are clamped; how many is in their own rank's log alone. One that is to be refused ends the job.
  { idx 60; printf '\x00\x01\x03%.0s' {1..20}; } >"$data/y3.idx"
  says 0 'release' on 2 release "${release[@]}" --data "$data/x.idx" --labels "$data/y3.idx" --out "$work/clamped/run"
  check "nobody else is told" bash -c "! grep -q 'no class' '$work/log'"
  check "where it stands is told, whatever the records are" grep -q 'stands in the private logs alone (.*clamped/run/logs). .muffle check' "$work/log"
  check "each rank's log counts its own" test "$(grep -l '10 count as nothing: a label that is no class' "$work"/clamped/run/logs/rank-*.jsonl | wc -l)" = 2
  says 65 'does not fit the public schema' on 2 release "${release[@]}" --data "$data/x.idx" --labels "$data/y3.idx" \
    --set data.on_error=reject-file --out "$work/clamped/refused"
  says 65 'stands in the private logs alone \(.*clamped/failed/logs\)' on 2 release "${release[@]}" --data "$data/x.idx" --labels "$data/y3.idx" \
    --set data.records=61 --out "$work/clamped/failed"

  # What a release without a budget means is said once, before the charge.
  says 0 'not set: data.id, privacy.ledger, privacy.budget_epsilon. What releases of the same records reveal adds up' \
    on 2 release "${release[@]}" "${records[@]}" --out "$work/unnamed/run"
  check "once" test "$(grep -c 'not set: data.id' "$work/log")" = 1
  check "where misfits would stand is told where there are none, too" grep -q 'private logs alone (.*unnamed/run/logs). .muffle check' "$work/log"
  says 0 'not set: privacy.budget_epsilon. What' on 1 release "${release[@]}" "${records[@]}" --set data.id=named --set "privacy.ledger=$work/named" \
    --out "$work/unnamed/named"
  says 0 'the budget is' on 1 release "${release[@]}" "${records[@]}" --set data.id=named --set "privacy.ledger=$work/budgeted" \
    --set privacy.budget_epsilon=5 --out "$work/unnamed/budgeted"
  check "with all three nothing is left to say" bash -c "! grep -q 'not set:' '$work/log'"

  # Scores on real records are made again each time: nothing is kept of the records that would tell whether they changed.
  test_data=(--set "data.test_features=$data/test-x.idx" --set "data.test_labels=$data/y.idx" --set 'evaluate.classifiers=["logistic_regression"]')
  head -c 976 "$data/x.idx" >"$data/test-x.idx"
  says 0 'evaluate: begins; it reads real records' on 1 run "${job[@]}" "${test_data[@]}" --out "$run"
  also_real=(--set evaluate.also_real=true --set evaluate.train_limit=30)
  says 0 'evaluate: begins; it reads real records' on 2 run "${job[@]}" "${test_data[@]}" "${also_real[@]}" --out "$run"
  # One number of a record that no score has seen.
  told=$(cat "$run/metrics.json" "$run/stages.json")
  printf 'z' | dd of="$data/x.idx" bs=1 seek=970 conv=notrunc status=none
  says 0 'evaluate: begins; it reads real records' on 1 run "${job[@]}" "${test_data[@]}" "${also_real[@]}" --out "$run"
  check "what was written does not tell the records apart" test "$told" = "$(cat "$run/metrics.json" "$run/stages.json")"
}

# Test noise is never taken for a private release, and everything that comes of it says so each time.
test_noise() {
  test_run=$work/not-private
  says 0 'NOT PRIVATE' on 2 run "${job[@]}" --insecure-seeded-noise 1 --out "$test_run"
  for n in 1 2; do says 78 'NOT PRIVATE' on $n run "${job[@]}" --out "$test_run"; done
  for verb in train sample; do
    says 0 "$verb: .*NOT PRIVATE" on 1 $verb "${train[@]}" "${sample[@]}" --out "$test_run"
    says 0 "$verb: .*NOT PRIVATE" on 1 $verb "${train[@]}" "${sample[@]}" --out "$test_run"
  done
  says 77 'NOT PRIVATE' on 1 verify "$test_run/release.mfl"
}

# What is wrong with a record stays on the rank that holds it: not on the console, not in rank 0's log.
private_words() {
  { head -c 60 "$data/y.idx"; printf '\x07'; tail -c 7 "$data/y.idx"; } >"$data/bad.idx"
  says 65 'rank 1: .*does not fit the public schema.*logs/rank-1.jsonl' \
    on 2 release "${release[@]}" --data "$data/x.idx" --labels "$data/bad.idx" --set data.on_error=reject-file --out "$work/bad"
  check "nothing on the console says which record" bash -c "! grep -q 'record 52' '$work/log'"
  check "the record's own rank has its number" grep -q 'record 52 ' "$work/bad/logs/rank-1.jsonl"
  check "rank 0 has not" test "$(grep -c 'record 52' "$work/bad/logs/rank-0.jsonl")" = 0
  # m_r, under add/remove-one, is not told when a shard is cut short.
  mkdir "$data/shards"
  for r in 0 1; do cp "$data/x.idx" "$data/shards/x-$r"; cp "$data/y.idx" "$data/shards/y-$r"; done
  truncate -s -5 "$data/shards/x-1"
  # Another length of the shard changes no word of what everybody reads: nothing there follows from it.
  cut() { # cut NAME: what two ranks say, but for the folder's name, and for what is never twice the same
    says 65 'truncated' on 2 release "${release[@]}" --data "$data/shards/x-{rank}" --labels "$data/shards/y-{rank}" --set data.records=0 \
      --set "data.id=$1" --set privacy.adjacency=add-remove-one --set privacy.release_counts=true --out "$work/$1" >&2
    grep '^muffle' "$work/log" | sed "s#$work/$1#FOLDER#g; s/$1/ID/g"
  }
  cut people-a >"$work/said-1"
  for r in 0 1; do # 90 records each, and again one is cut short
    { idx 90 4 4; tail -c +17 "$data/x.idx"; head -c 480 /dev/zero | tr '\0' 'x'; } >"$data/shards/x-$r"
    { idx 90; tail -c +9 "$data/y.idx"; head -c 30 /dev/zero; } >"$data/shards/y-$r"
  done
  truncate -s -20 "$data/shards/x-1"
  cut people-b >"$work/said-2"
  check "what is said does not depend on the shards' sizes" diff "$work/said-1" "$work/said-2"
  check "the rank's own log has the sizes" grep -q '60 x 4 x 4' "$work/people-a/logs/rank-1.jsonl"
  check "no other file has" test "$(grep -rl '60 x 4 x 4' "$work/people-a" | wc -l)" = 1
}

# Unlabelled records, and CIFAR's with their labels inside, with neither data.dir nor data.id.
other_records() {
  says 0 'numbers in' on 1 release "${tiny[@]}" --set data.classes=1 --data "$data/x.idx" --out "$work/unlabelled"
  for _ in {1..30}; do printf '\x00xxxxxxxxxxxxxxxx'; done >"$data/half.bin"
  pushd "$data" >/dev/null
  says 0 'numbers in' on 2 release "${release[@]}" --set data.format=cifar --set data.dir=/nowhere \
    --data 'half.bin, half.bin' --out "$work/cifar"
  says 0 'numbers in' on 1 release "${tiny[@]}" --set data.classes=1 --set data.format=cifar --data 'half.bin, half.bin' --out "$work/cifar-1"
  popd >/dev/null

  # Generated data do not depend on how the run folder is spelt.
  mixture=(--config "$CONFIGS/gaussian-mixture-2d.toml" --set map.rff.count=2)
  pushd "$work" >/dev/null
  says 0 'numbers in' on 1 release "${mixture[@]}" --out mixture
  popd >/dev/null
  says 0 'is there already and matches' on 1 release "${mixture[@]}" --out "$work/mixture"
  says 0 'train: ' on 1 train "${mixture[@]}" "${train[@]}" --set train.steps=2 --set model.generator=fully-connected \
    --release "$work/mixture/release.mfl" --out "$work/elsewhere"
  check "training makes no records" test ! -e "$work/elsewhere/data"
}

# Settings that no stage could use are refused before the charge.
impossible_settings() {
  for wrong in 'model.channels=[16]' 'data.shape=[1,4,3]' 'data.classes=257' 'train.learning_rate=inf' 'train.steps=8589934592'; do
    says 78 "${wrong%%=*}" on 1 run "${job[@]}" --set "$wrong" --out "$work/impossible"
    says 78 "${wrong%%=*}" on 1 plan "${release[@]}" --set data.features=x --set data.labels=y "${train[@]}" --set "$wrong"
  done
  check "nothing was charged" test ! -e "$work/impossible/release.mfl"
}

# differ COMMAND-OF-RANK-1 'REGEX' ARGS-OF-RANK-0...
differ() {
  local other=$1 regex=$2 rc=0
  shift 2
  rm -f "$work/rank1"
  timeout -k 5 300 "$MPIEXEC" "${mpi_flags[@]}" -n 1 "$MUFFLE" "$@" : -n 1 bash -c "\"\$0\" $other; echo \$? >$work/rank1" "$MUFFLE" \
    >"$work/log" 2>&1 || rc=$?
  check "78 on rank 0 ($rc) and 1 ($(cat "$work/rank1")): $other" test "$rc" = 78 -a "$(cat "$work/rank1")" = 78
  check "it names what differs: $regex" grep -qE -- "$regex" "$work/log"
  check "one rank speaks" test "$(grep -c 'muffle.*: ' "$work/log")" = 1
}

# Ranks that were started differently all say 78 and why.
ranks_that_differ() {
  differ "train --out $work/b" "--out is '.*/a' on rank 0 and '.*/b' on rank 1" train --out "$work/a"
  differ "sample --out $work/a" 'the verb is train on rank 0 and sample on rank 1' train --out "$work/a"
  differ "train --out $work/a --release r" "--release is not given on rank 0 and 'r' on rank 1" train --out "$work/a"
  differ "release --out $work/a --dry-run" '--dry-run is not given on rank 0 and given' release --out "$work/a"
  differ "release --out $work/a --insecure-seeded-noise 3" '--insecure-seeded-noise is not given on rank 0 and 3' release --out "$work/a"
  differ "account --epsilon 1" 'the verb is release' release --out "$work/a"
}

# Verbs for one process: once, on root, whatever the number of ranks; and its exit code on all.
one_process() {
  once() { # CODE WORDS COMMAND...
    says "$@"
    check "once" test "$(grep -c -e "$2" "$work/log")" = 1
  }
  once 0 'secret key' on 3 keygen --name site --out "$work/keys"
  once 0 'noise multiplier' on 2 account --epsilon 1 --delta 1e-5
  once 0 'Usage' on 2 run --help
  once 2 'no-such-flag' on 2 run --no-such-flag --out "$work/a"
  says 74 'nothing.mfl' on 2 verify "$work/nothing.mfl"
}

# A launcher that MPI does not know would start lone ranks that each take themselves for the whole job.
launchers() {
  lone=(env SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2)
  says 78 'mpi=pmix' "${lone[@]}" "$MUFFLE" release "${job[@]}" --out "$work/lone"
  says 78 'mpi=pmix' env PMI_SIZE=2 PMI_RANK=0 "$MUFFLE" release "${job[@]}" --out "$work/lone"
  check "nothing was made" test ! -e "$work/lone"
  says 0 'noise multiplier' "${lone[@]}" "$MUFFLE" account --epsilon 1 --delta 1e-5
  says 0 'dry run' env SLURM_JOB_ID=1 SLURM_NTASKS=2 SLURM_PROCID=0 "$MUFFLE" release "${job[@]}" --dry-run --out "$work/batch"
  # mpirun's daemons are a step of the job, of one task a node.
  says 0 'dry run' env SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3 \
    "$MPIEXEC" "${mpi_flags[@]}" -n 2 "$MUFFLE" release "${job[@]}" --dry-run --out "$work/batch"

  # What the environment decides is said; a variable with one underscore; a delta above 1/m is said before the charge.
  says 0 'settings from the environment: runtime.threads \(MUFFLE_RUNTIME__THREADS\)$' env MUFFLE_RUNTIME__THREADS=1 \
    "$MUFFLE" release "${job[@]}" --dry-run --out "$work/lone"
  says 0 '^muffle: settings from the environment: privacy.adjacency \(MUFFLE_PRIVACY__ADJACENCY\)$' \
    env MUFFLE_RUNTIME__THREADS=1 MUFFLE_PRIVACY__ADJACENCY=replace-one "$MUFFLE" release "${job[@]}" --dry-run -q --out "$work/lone"
  says 78 'did you mean MUFFLE_PRIVACY__EPSILON' env MUFFLE_PRIVACY_EPSILON=3 "$MUFFLE" release "${job[@]}" --out "$work/lone"
  says 0 'delta 0.05 is not below 1 / 60' on 1 release "${job[@]}" --delta 0.05 --dry-run --out "$work/large-delta"

  # The folder after quickstart.sh is the caller's, not the repository's.
  mkdir -p "$work/tree/launch" "$work/caller"
  cp "$(dirname "${BASH_SOURCE[0]}")/../../launch/quickstart.sh" "$work/tree/launch"
  for stub in install-debian build local; do printf '#!/bin/sh\necho "$@"\n' >"$work/tree/launch/$stub.sh"; done
  # shellcheck disable=SC2016
  echo 'for folder; do :; done; mkdir -p "$folder" && echo "{}" >"$folder/metrics.json"' >>"$work/tree/launch/local.sh"
  chmod +x "$work"/tree/launch/*.sh
  pushd "$work/caller" >/dev/null
  says 0 "run .* --out $work/caller/mine$" "$work/tree/launch/quickstart.sh" mine
  says 0 'run .* --out out/fashion-mnist$' "$work/tree/launch/quickstart.sh"
  popd >/dev/null

  # -q: only errors.
  ends 0 on 2 run "${job[@]}" -q --out "$work/quiet"
  own_words "$work/log"
  check "-q prints nothing ($(head -3 "$work/log"))" test ! -s "$work/log"
}

# Debian's OpenBLAS takes processors that are newer than itself for one of 2004.
fast_blas() {
  grep -q avx2 /proc/cpuinfo || return 0
  says 0 'versions' on 1 doctor --out "$work/doctor"
  grep -q OpenBLAS "$work/log" || return 0 # LibTorch has another one
  check "a new processor is none of 2004" bash -c "! grep -q 'Prescott' '$work/log'"
  says 0 'set OPENBLAS_CORETYPE=(SkylakeX|Haswell) there' env OPENBLAS_CORETYPE=Prescott "$MUFFLE" doctor --out "$work/doctor"
}

# No room: nothing is charged. Room for the release alone: the error says that the charge is no loss.
full_disk() {
  says 74 'there is no room' no_room release "${job[@]}" --set data.id=room --out "$work/room/run"
  check "nothing was charged" test "$(cat "$work"/room/ledger-* 2>/dev/null | grep -c INTENT)" = 0
  mkdir -p "$work/late/run/privacy.json"
  says 74 'The release was made: the same command again keeps it' on 2 release "${job[@]}" --set data.id=late --out "$work/late/run"
  rmdir "$work/late/run/privacy.json"
  says 0 'is there already and matches' on 1 release "${job[@]}" --set data.id=late --out "$work/late/run"
  check "charged once" test "$(cat "$work"/late/ledger-* | grep -c INTENT)" = 1
}

side_by_side 'begin one_run other_records' 'begin test_noise private_words' 'begin ranks_that_differ impossible_settings' \
  'begin one_process launchers full_disk fast_blas'
