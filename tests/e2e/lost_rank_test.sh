#!/usr/bin/env bash
# A rank that is killed or stopped in the middle of the embedding, or while rank 0 evaluates: the others notice, the lowest of them
# says who is missing, all of them end with 69 in time, and nothing is released, charged or left half-written.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

here=$(dirname "${BASH_SOURCE[0]}")
local_sh=$here/../../launch/local.sh
long=("${small[@]}" --set runtime.deadline_s=6 --set data.id=lost -q)

stage=release left_it=0

# strike SIGNAL VICTIM RANKS COMMAND...: runs COMMAND with $stage and --out $out, sends SIGNAL to muffle's rank VICTIM when it embeds, or
# while rank 0 trains classifiers; $code is the command's exit code and $took the seconds from the signal to its end.
strike() {
  local signal=$1 victim=$2 waits=$2 step=embed.batch start pid=
  shift 3
  out=$(mktemp -d "$work/job.XXXX")/run
  if [[ $stage == evaluate ]]; then
    waits=0 step=evaluate.train
    mkdir "$out" && cp "$work/done"/*.* "$out"
  fi
  MUFFLE_KILL_POINT=$step:wait:1 MUFFLE_KILL_RANK=$waits timeout -k 5 600 "$@" "$stage" "${long[@]}" --out "$out" >"$work/log" 2>&1 &
  local job=$!
  hold
  pid=$(sed -n '/"pid":/{s/.*"pid":\([0-9]*\).*/\1/p;q}' "$out/logs/rank-$victim.jsonl")
  start=$SECONDS
  kill "-$signal" "$pid" || fail "rank $victim had ended before SIG$signal"
  let_go
  code=0
  wait "$job" || code=$?
  took=$((SECONDS - start))
  kill -KILL "$pid" 2>/dev/null || true # a stopped rank that outlived its job
}

# lose SIGNAL VICTIM RANKS [mpiexec flags]: the same, with every rank's own exit code and words.
lose() {
  local signal=$1 victim=$2 n=$3 said=$work/said r speaker='' words=()
  local loss="(lost|not heard from:|not heard from since:) .*rank $victim \\(|has ended the job with exit code 69"
  shift 3
  rm -rf "$said" && mkdir "$said"
  strike "$signal" "$victim" "$n" "$MPIEXEC" "${mpi_flags[@]}" "$@" -n "$n" bash "$here/record_rank.sh" "$said" "$MUFFLE_FAULTY"
  own_words "$said"/*.stderr
  echo "-- SIG$signal to rank $victim of $n $*: the job ended with $code after $took s"
  check "ended in time" test "$took" -lt 150
  # The lowest rank that is left speaks, and alone. But where the ranks' own deadlines end the job (STOP), rank 2's may pass longer
  # before rank 0's than it waits for rank 0's word (its embedding has ended sooner): then it speaks too.
  for ((r = 0; r < n; r++)); do
    ((r == victim)) && continue
    words+=("$said/$r.stderr")
    if [[ -z $speaker ]] && [[ $signal != STOP || -s $said/$r.stderr ]]; then speaker=$r; fi
  done
  check "somebody speaks" test -n "$speaker"
  # Under the sanitizers all deadlines pass at once, and mpirun wakes and ends the ranks in between: any of them may name who is lost.
  [[ $signal == STOP ]] || words=("$said/$speaker.stderr")
  check "and names the rank and its host" grep -qE "(lost|not heard from:) rank $victim \(host $(uname -n)\)" "${words[@]}"
  check "and says what to do" grep -qE "run the same command again|raise the deadline" "${words[@]}"
  for ((r = 0; r < n; r++)); do
    ((r == victim)) && continue
    check "rank $r is left and ends with 69" test "$(cat "$said/$r.code")" = 69
    [[ -n $sanitized && $signal == STOP ]] && continue
    if [[ $r == "$speaker" || $signal == STOP && -s $said/$r.stderr ]]; then
      check "rank $r speaks, in one paragraph" test "$(grep -cE '^muffle( \(rank [0-9]+ on [^)]*\))?: ' "$said/$r.stderr")" = 1
    elif [[ $stage != evaluate ]]; then # while it trains, rank 0 may hear of the loss later than the others wait for its word, too
      # It speaks too if rank 0 is held up for longer than it waits for rank 0's word: of the same loss, and not each time.
      if [[ ! -s $said/$r.stderr ]]; then left_it=$((left_it + 1)); else
        check "rank $r, which speaks too, names the same rank" grep -qE "$loss" "$said/$r.stderr"
      fi
    fi
    check "rank $r has it in its log" grep -qE "$loss" "$out/logs/rank-$r.jsonl"
  done
  check "nothing is left half-written" bash -c "! compgen -G '$out/.*.tmp.*'"
  if [[ $stage == evaluate ]]; then check "and there are no scores" test ! -e "$out/metrics.json"; else
    check "nothing is released" bash -c "! compgen -G '$out/*.mfl'"
    check "and nothing was charged" bash -c "! grep -qs INTENT '$out'/../ledger-*.jsonl"
  fi
  if ((failures > 0)); then tail -n +1 "$said"/* "$work/log" | sed 's/^/    /' >&2; fi
}

lose KILL 1 3
# Which it hears of first is a matter of milliseconds: the killed rank, or those that are left.
check "mpirun reports the killed rank, or the others' code" test "$code" = 137 -o "$code" = 69
if [[ -n $thorough ]]; then lose KILL 0 3; fi
# With recovery on, mpiexec lets the survivors be and hides their exit codes: they notice by themselves.
lose KILL 1 3 --mca orte_enable_recovery 1
check "by the loss, not by the deadline" grep -q "lost rank 1" "$work/said/0.stderr"
for _ in {1..5}; do ((left_it > 0)) || lose KILL 1 3; done
check "the others leave it to the lowest, but for now and then" test "$left_it" -gt 0
lose STOP 1 3
check "mpirun passes the survivors' code on" test "$code" = 69

# The launcher of the README.
strike KILL 1 2 env MUFFLE_BINARY="$MUFFLE_FAULTY" bash "$local_sh" 2
check "launch/local.sh ends with 69" test "$code" = 69
check "and rank 0 has named rank 1" grep -qE 'muffle: lost rank 1 \(host ' "$work/log"
check "in time" test "$took" -lt 150
if ((failures > 0)); then sed 's/^/    /' "$work/log" >&2; fi

# Rank 0 trains classifiers, several at a time, while the others wait for its verdict.
ends 0 on 1 run "${small[@]}" --set sample.count=20000 --set 'evaluate.metrics=[]' --out "$work/done"
stage=evaluate
long=("${small[@]}" --set sample.count=20000 --set 'evaluate.classifiers=["logistic_regression", "mlp", "cnn"]'
  --set evaluate.also_real=true --set runtime.deadline_s=6 -q)
if [[ -n $thorough ]]; then lose KILL 1 3; fi
lose KILL 1 3 --mca orte_enable_recovery 1
check "by the loss, not by the deadline" grep -q "lost rank 1" "$work/said/0.stderr"
finish
