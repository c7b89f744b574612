#!/usr/bin/env bash
# A job that is killed, or told to stop, and started again: the parameters of a job that nobody interrupted, bit for bit,
# one charge in the ledger, and never exit code 0 while work is left.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
STEPS=120 RANKS=2
# shellcheck source=tests/chaos/job.sh
source "$(dirname "${BASH_SOURCE[0]}")/../chaos/job.sh"
here=$(dirname "${BASH_SOURCE[0]}")

job "$work/whole"
ends 0 on 2 "${args[@]}"
expected=$(parameters "$work/whole")
model=$(sha256sum <"$work/whole/model.mfl")
check "no checkpoint is left behind a finished training" test ! -e "$work/whole/checkpoint-a.mfl" -a ! -e "$work/whole/checkpoint-b.mfl"

# train_to OUT: the training on the whole job's release; `train` holds the command.
train_to() { out=$1 train=(train --config "$work/job.toml" --release "$work/whole/release.mfl" --out "$1"); }

# stopped 'CODES' RANKS ARGS...: every rank's own exit code is in $work/said/RANK.code; the job's is one of CODES.
stopped() {
  local codes=$1 n=$2 rc=0
  shift 2
  each "$work/said" "$n" "$@" >"$work/log" 2>&1 || rc=$?
  check "exit $rc is one of $codes" grep -qw "$rc" <<<"$codes"
  if ((failures > 0)); then tail -n +1 "$work/said"/* "$work/log" | sed 's/^/    /' >&2; fi
}
everybody_said() { test "$(cat "$work/said"/*.code | tr '\n' ' ')" = "$1"; }
again() { ends 0 on "$@"; }
# goes_on RANKS: the training, from its checkpoint.
goes_on() { says 0 'resumed after step' on "$1" "${train[@]}"; }
charged_once() { check "$out: charged once" test "$(lines INTENT "$out") $(lines COMMIT "$out")" = "1 1"; }
same_model() { check "$out: the same model.mfl" test "$(sha256sum <"$out/model.mfl")" = "$model"; }

# A rank is killed in the middle of the training.
train_to "$work/killed"
at rename@checkpoint-b.mfl kill-after stopped "69 137" 2 "${train[@]}"
check "a killed training leaves no model" test ! -e "$out/model.mfl"
goes_on 2
same_model

# One rank alone is told to stop: all end with 75. (SIGUSR1 in a whole job: below.)
for n in 1 2; do
  for signal in term usr1; do
    [[ $signal == term || -n $thorough ]] || continue
    train_to "$work/$signal-$n"
    at_rank=$((n - 1)) at train.step#15 $signal stopped 75 "$n" "${train[@]}"
    check "$signal to rank $((n - 1)) of $n: 75 on every rank" everybody_said "$([[ $n == 1 ]] && echo '75 ' || echo '75 75 ')"
    check "and says what to do" grep -q 'same command again' "$work/said/0.stderr"
    if [[ $n$signal == 2term ]]; then cp -r "$out" "$work/other-settings"; fi
    goes_on "$n"
    if ((n == 2)); then same_model; fi
  done
done

# SIGUSR1 to mpirun reaches every rank, and the launchers make one of SIGTERM, which would let mpirun end the ranks.
for launcher in "" "local.sh 2" "mpirun.sh -n 2 --oversubscribe --bind-to none --"; do
  name=${launcher%% *}
  [[ -n $launcher || -n $thorough ]] || continue # mpirun.sh hands SIGUSR1 to mpirun, too
  train_to "$work/${name:-forwarded}"
  if [[ -z $launcher ]]; then
    signal=USR1 command=("$MPIEXEC" "${mpi_flags[@]}" -n 2 "$MUFFLE_FAULTY")
  else
    read -ra command <<<"$launcher"
    signal=TERM command=("$here/../../launch/${command[0]}" "${command[@]:1}")
  fi
  rc=0
  rm -f "$MUFFLE_WAIT_FILE.told"
  MUFFLE_BINARY=$MUFFLE_FAULTY MUFFLE_KILL_POINT=train.step#15:wait:1 MUFFLE_KILL_RANK=0 \
    timeout -k 5 600 "${command[@]}" "${train[@]}" >"$work/log" 2>&1 &
  running=$!
  hold
  pkill "-$signal" -P "$running" || fail "it was over before the signal" # timeout's child
  told
  let_go
  wait "$running" || rc=$?
  check "$signal to ${name:-mpirun} ends with 75, not $rc" test "$rc" = 75
  if [[ -n $launcher ]]; then
    goes_on 2
    same_model
  fi
done

# The newest checkpoint is damaged: reported, and the other slot is used; and another number of ranks goes on.
train_to "$work/damaged"
at rename@checkpoint-b.mfl#2 kill-after stopped "69 137" 2 "${train[@]}"
printf 'X' | dd of="$out/checkpoint-b.mfl" bs=1 seek=200 conv=notrunc status=none
cp -r "$out" "$work/other-ranks"
goes_on 2
check "the damaged checkpoint is named" grep -q "checkpoint-b.mfl.*cannot be used" "$work/log"
same_model
train_to "$work/other-ranks"
says 0 'written by 2 rank' on 3 "${train[@]}"

# Other settings do not take the checkpoint.
train_to "$work/other-settings"
says 0 'other train or model settings; it is not used' on 2 "${train[@]}" --set train.seed=5

# Told to stop while it embeds: nothing is charged; the whole job again charges once.
out=$work/embedding
job "$out" --set 'train.steps=20'
at_rank=1 at embed.batch term stopped 75 2 "${args[@]}"
check "nothing was charged" test "$(lines INTENT "$out")" = 0
check "nothing was released" test ! -e "$out/release.mfl"
again 2 "${args[@]}"
charged_once

# A whole job is stopped in its training and goes on: the release is kept and charged once.
out=$work/job
job "$out"
at train.step#25 usr1 stopped 75 2 "${args[@]}"
again 2 "${args[@]}"
check "the same parameters" test "$(parameters "$out")" = "$expected"
charged_once

# Told to stop while it draws samples, and while it trains classifiers: the stages before are kept, the one at hand is made again.
out=$work/late
late=(run "${small[@]}" --set sample.count=6000 --set 'evaluate.classifiers=["logistic_regression"]' --set "privacy.ledger=\"$out.ledger\"" --out "$out")
for step in sample.round evaluate.train; do
  at $step term stopped 75 2 "${late[@]}"
  check "told in $step to stop: 75 on every rank" everybody_said '75 75 '
done
check "no score was written" test ! -e "$out/metrics.json"
samples=$(sha256sum <"$out/samples.npz")
again 2 "${late[@]}"
check "the samples are kept" test "$(sha256sum <"$out/samples.npz")" = "$samples"
check "the scores are there" test -s "$out/metrics.json"
charged_once

# A file that is never read to its end: the rank's own watchdog ends it, also where nobody else waits.
mkfifo "$work/stuck.mfl"
for n in 1 2; do
  begun=$SECONDS
  says 69 'stuck.mfl|not heard from' on "$n" train --config "$work/job.toml" --release "$work/stuck.mfl" --set runtime.deadline_s=4 --out "$work/stuck-$n"
  check "a read that hangs ends within the deadline" test $((SECONDS - begun)) -lt 120
done
finish
