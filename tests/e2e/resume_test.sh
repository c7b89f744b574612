#!/usr/bin/env bash
# A job that is killed, or told to stop, and started again: the parameters of a job that nobody interrupted, bit for bit,
# one charge in the ledger, and never exit code 0 while work is left.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
STEPS=900 RANKS=2
# shellcheck source=tests/chaos/job.sh
source "$(dirname "${BASH_SOURCE[0]}")/../chaos/job.sh"
here=$(dirname "${BASH_SOURCE[0]}")

job "$work/whole"
on 2 "${args[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the job that nobody interrupts"; }
expected=$(parameters "$work/whole")
model=$(sha256sum <"$work/whole/model.mfl")
check "no checkpoint is left behind a finished training" test ! -e "$work/whole/checkpoint-a.mfl" -a ! -e "$work/whole/checkpoint-b.mfl"

# train_to OUT N: trains on the whole job's release; `train` holds the command.
train_to() {
  train=(train --config "$work/job.toml" --release "$work/whole/release.mfl" --out "$1")
}

# begin OUT N WHEN COMMAND...: starts the command on N ranks, each of which leaves its exit code in OUT.code-RANK, and
# waits until rank 0's log says WHEN.
begin() {
  local out=$1 n=$2 when=$3
  shift 3
  # shellcheck disable=SC2016
  local rank='rc=0; "$@" || rc=$?; echo $rc >"$0.code-${OMPI_COMM_WORLD_RANK:-0}"; exit $rc'
  if ((n == 1)); then
    timeout -k 5 300 bash -c "trap : USR1; $rank" "$out" "$MUFFLE" "$@" >"$work/log" 2>&1 &
  else
    timeout -k 5 300 "$MPIEXEC" "${mpi_flags[@]}" -n "$n" bash -c "trap : TERM USR1; $rank" "$out" "$MUFFLE" "$@" >"$work/log" 2>&1 &
  fi
  running=$!
  wait_for "$when" "$out"
}

# wait_for WHEN OUT: until rank 0's log says so.
wait_for() {
  for _ in $(seq 3000); do
    grep -q -- "$1" "$2/logs/rank-0.jsonl" 2>/dev/null && return
    sleep 0.02
  done
  fail "no line '$1' in 60 s"
}

# ends_with 'CODES': waits for it.
ends_with() {
  local rc=0
  wait "$running" || rc=$?
  if [[ " $1 " == *" $rc "* ]]; then echo "ok: exit $rc"; else
    fail "exit $rc, not one of $1"
    sed 's/^/    /' "$work/log" >&2
  fi
}

# A rank is killed in the middle of the training.
out=$work/killed
train_to "$out"
begin "$out" 2 'checkpoint of step' "${train[@]}"
kill -KILL "$(pid_of 1 "$out")" || fail "it was over before the signal"
ends_with "69 137"
check "a killed training leaves no model" test ! -e "$out/model.mfl"
on 2 "${train[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the training again"; }
check "it goes on from the checkpoint" grep -q 'resumed after step' "$work/log"
check "and writes the same model.mfl" test "$(sha256sum <"$out/model.mfl")" = "$model"

# One rank alone is told to stop: all end with 75.
for signal in TERM USR1; do
  for n in 1 2; do
    out=$work/$signal-$n
    train_to "$out"
    begin "$out" "$n" 'train: steps begin' "${train[@]}"
    kill "-$signal" "$(pid_of $((n - 1)) "$out")" || fail "it was over before the signal"
    ends_with 75
    check "SIG$signal to rank $((n - 1)) of $n: 75 on every rank" test "$(cat "$out".code-* | tr '\n' ' ')" = "$([[ $n == 1 ]] && echo '75 ' || echo '75 75 ')"
    check "and says what to do" grep -q 'same command again' "$work/log"
    on "$n" "${train[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the training again"; }
    check "it goes on from the checkpoint" grep -q 'resumed after step' "$work/log"
    if ((n == 2)); then check "to the same model.mfl" test "$(sha256sum <"$out/model.mfl")" = "$model"; fi
  done
done

# SIGUSR1 to mpirun reaches every rank.
out=$work/forwarded
train_to "$out"
begin "$out" 2 'train: steps begin' "${train[@]}"
pkill -USR1 -P "$running" || fail "it was over before the signal" # timeout's child: mpirun
ends_with 75

# The launchers make a SIGUSR1 of SIGTERM, which would let mpirun end the ranks.
for launcher in "local.sh 2" "mpirun.sh -n 2 --oversubscribe --bind-to none --"; do
  name=${launcher%% *}
  read -ra launcher <<<"$launcher"
  out=$work/$name
  train_to "$out"
  MUFFLE_BINARY=$MUFFLE timeout -k 5 300 "$here/../../launch/${launcher[0]}" "${launcher[@]:1}" "${train[@]}" >"$work/log" 2>&1 &
  running=$!
  wait_for 'train: steps begin' "$out"
  pkill -TERM -P "$running" || fail "it was over before the signal" # timeout's child: the script
  ends_with 75
  on 2 "${train[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "after $name again"; }
  check "$name: it goes on from the checkpoint" grep -q 'resumed after step' "$work/log"
  check "$name: to the same model.mfl" test "$(sha256sum <"$out/model.mfl")" = "$model"
done

# The newest checkpoint is damaged: reported, and the other slot is used; and another number of ranks goes on.
out=$work/damaged
train_to "$out"
begin "$out" 2 'checkpoint of step 40' "${train[@]}"
kill -KILL "$(pid_of 0 "$out")" || fail "it was over before the signal"
ends_with "69 137"
newest=$(sed -n 's/.*checkpoint of step [0-9]* in \([^"]*\)".*/\1/p' "$out/logs/rank-0.jsonl" | tail -1)
printf 'X' | dd of="$newest" bs=1 seek=200 conv=notrunc status=none
cp -r "$out" "$work/other-ranks"
on 2 "${train[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the training with a damaged checkpoint"; }
check "the damaged checkpoint is named" grep -q "$(basename "$newest").*cannot be used" "$work/log"
check "the other one is used" grep -q 'resumed after step' "$work/log"
check "to the same model.mfl" test "$(sha256sum <"$out/model.mfl")" = "$model"
out=$work/other-ranks
train_to "$out"
on 3 "${train[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the training on other ranks"; }
check "three ranks take up what two began" grep -q 'written by 2 rank' "$work/log"

# Other settings do not take the checkpoint.
out=$work/TERM-2
rm "$out/model.mfl" "$out"/logs/rank-*.jsonl  # begin waits for a line of the new run
begin "$out" 2 'checkpoint of step' train --config "$work/job.toml" --release "$work/whole/release.mfl" --out "$out"
kill -TERM "$(pid_of 0 "$out")" || fail "it was over before the signal"
ends_with 75
on 2 train --config "$work/job.toml" --release "$work/whole/release.mfl" --set train.seed=5 --out "$out" >"$work/log" 2>&1 || fail "a training of other settings"
check "a checkpoint of other settings is passed over, with a line" grep -q 'other train or model settings; it is not used' "$work/log"

# Told to stop while it embeds: nothing is charged; the whole job again charges once.
out=$work/embedding
job "$out" --set features.count=40000 --set 'train.steps=20'
begin "$out" 2 'embedding begins' "${args[@]}"
kill -TERM "$(pid_of 1 "$out")" || fail "it was over before the signal"
ends_with 75
check "nothing was charged" test "$(lines INTENT "$out")" = 0
check "nothing was released" test ! -e "$out/release.mfl"
on 2 "${args[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the job again"; }
check "charged once" test "$(lines INTENT "$out") $(lines COMMIT "$out")" = "1 1"

# A whole job is stopped in its training and goes on: the release is kept and charged once.
out=$work/job
job "$out"
begin "$out" 2 'checkpoint of step' "${args[@]}"
kill -USR1 "$(pid_of 0 "$out")" || fail "it was over before the signal"
ends_with 75
on 2 "${args[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the job again"; }
check "the same parameters" test "$(parameters "$out")" = "$expected"
check "charged once" test "$(lines INTENT "$out") $(lines COMMIT "$out")" = "1 1"

# Told to stop while it draws samples, and while it trains classifiers: the stages before are kept, the one at hand is made again.
out=$work/late
late=(run "${small[@]}" --set sample.count=60000 --set 'evaluate.classifiers=["cnn"]' --set "privacy.ledger=\"$out.ledger\"" --out "$out")
for stage in sample evaluate; do
  rm -f "$out"/logs/rank-*.jsonl # `begin` waits for a line of this run
  begin "$out" 2 "$stage: begins" "${late[@]}"
  sleep 0.5
  kill -TERM "$(pid_of 1 "$out")" || fail "it was over before the signal"
  ends_with 75
  check "SIGTERM in $stage: 75 on every rank" test "$(cat "$out".code-* | tr '\n' ' ')" = '75 75 '
done
check "no score was written" test ! -e "$out/metrics.json"
samples=$(sha256sum <"$out/samples.npz")
on 2 "${late[@]}" --set 'evaluate.classifiers=["logistic_regression"]' >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the job again"; }
check "the samples are kept" test "$(sha256sum <"$out/samples.npz")" = "$samples"
check "the scores are there" test -s "$out/metrics.json"
check "charged once" test "$(lines INTENT "$out") $(lines COMMIT "$out")" = "1 1"

# A file that is never read to its end: the rank's own watchdog ends it, also where nobody else waits.
mkfifo "$work/stuck.mfl"
for n in 1 2; do
  begun=$SECONDS rc=0
  on "$n" train --config "$work/job.toml" --release "$work/stuck.mfl" --set runtime.deadline_s=4 --out "$work/stuck-$n" >"$work/log" 2>&1 || rc=$?
  check "a read that hangs ends with 69 on $n rank(s)" test "$rc" = 69
  check "within the deadline" test $((SECONDS - begun)) -lt 40
  check "and is named" grep -qE 'stuck.mfl|not heard from' "$work/log"
done
finish
