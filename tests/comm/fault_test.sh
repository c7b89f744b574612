#!/usr/bin/env bash
# Breaks a running MPI job and looks at how it ends.
#   fault_test.sh CASE PROGRAM MPIEXEC [FLAGS...]
#   kill           a rank is killed: mpiexec ends the others
#   kill-all       the ranks and mpiexec are killed at once: nothing of the ranks' messages is left
#   kill-recovery  the same, but mpiexec is told to go on: only our deadline ends the others
#   stop           a rank is frozen: only our deadline ends the others
#   stop-worker    a rank works for longer than the deadline while the others wait for it; then it is frozen
#   stop-waiting   a rank that waits for the working one is frozen
#   stop-ended     a rank is frozen when all is done, before it has ended: the kernel ends it
#   stop-ended-all the same of every rank at once
#   data-error     a rank fails by itself while the others are in a collective
set -euo pipefail

case_name=$1 program=$2 mpiexec=$3
shift 3
readonly ranks=3 victim=1 deadline_ms=4000
readonly give_up_s=90 # far beyond what any case takes; a hang is what this test is there to find

folder=$(mktemp -d "${TMPDIR:-/tmp}/muffle-fault.XXXXXX")
log=$folder/log
job=
export OMPI_MCA_orte_tmpdir_base=$folder # not the one that other tests' jobs make and remove

clean_up() {
  local file
  for file in "$folder"/rank-*.pid; do
    if [ -e "$file" ] && ours "$(cat "$file")"; then kill -KILL "$(cat "$file")" 2>/dev/null || true; fi
  done
  if [ -n "$job" ]; then kill -KILL "$job" 2>/dev/null || true; fi
  rm -rf "$folder"
}
trap 'clean_up || true' EXIT

# A process number may have been given to somebody else meanwhile.
ours() { [ "$(readlink "/proc/$1/exe" 2>/dev/null)" = "$(readlink -f "$program")" ]; }

fail() {
  echo "FAILED ($case_name): $1"
  echo "--- output of the job:"
  cat "$log"
  exit 1
}

wait_for_start() {
  local rank
  for rank in $(seq 0 $((ranks - 1))); do
    for _ in $(seq 1200); do
      [ -e "$folder/rank-$rank.started" ] && continue 2
      sleep 0.05
    done
    fail "rank $rank did not start"
  done
}

# expected: mpiexec's own code, or one of them; ranks: the code that the other ranks end with; says: what they say.
mode=loop fault=none
case $case_name in
  kill-all)
    expected=137
    set -- "$@" --mca btl_vader_backing_directory "$folder"
    ;;
  # 69: a rank that is left may end the job before mpirun has seen the other one's end.
  kill) fault=KILL expected='137 69' ranks_code=69 says="lost rank $victim (host" ;;
  kill-recovery)
    # Told to live with lost ranks, mpiexec hides the ranks' codes.
    fault=KILL expected=any ranks_code=69 says="lost rank $victim (host"
    set -- "$@" --mca orte_enable_recovery 1
    ;;
  stop) fault=STOP expected=69 ranks_code=69 says="not heard from: rank $victim (host" ;;
  stop-worker) mode=work-1 fault=STOP expected=69 ranks_code=69 says="not heard from: rank $victim (host" ;;
  stop-waiting) mode=work-2 fault=STOP expected=69 ranks_code=69 says="not heard from: rank $victim (host" ;;
  stop-ended) mode=end-2 expected=137 ;;
  stop-ended-all) mode=end-all expected=137 ;;
  data-error) mode=data-error expected=65 ranks_code=65 says="rank $victim (host .*) has ended the job with exit code 65" ;;
  *) echo "unknown case $case_name"; exit 2 ;;
esac

"$mpiexec" "$@" -n "$ranks" "$program" "$folder" "$deadline_ms" "$mode" >"$log" 2>&1 &
job=$!
wait_for_start
if [ "$case_name" = kill-all ]; then
  mapfile -t pids < <(cat "$folder"/rank-*.pid)
  for pid in "${pids[@]}"; do
    # Messages do go through shared memory here; and it has no name left (empty files have them).
    [ "$(grep -c "$folder/vader_segment\..* (deleted)" "/proc/$pid/maps")" -ge $ranks ] ||
      fail "process $pid has not mapped every rank's segment"
  done
  kill -KILL "$job" "${pids[@]}"
elif [ "$fault" != none ]; then
  kill -"$fault" "$(cat "$folder/rank-$victim.pid")"
fi

begun=$SECONDS
while kill -0 "$job" 2>/dev/null; do
  if [ $((SECONDS - begun)) -gt $give_up_s ]; then fail "the job still runs after $give_up_s s"; fi
  sleep 0.1
done
code=0
wait "$job" || code=$?
job=
took=$((SECONDS - begun))

if [ "$expected" != any ] && [[ " $expected " != *" $code "* ]]; then fail "exit code $code, expected $expected"; fi
if [ "$case_name" = kill-all ]; then
  if find "$folder" -name 'vader_segment*' -size +0 | grep .; then fail "the ranks' shared memory is still there"; fi
  echo "ok ($case_name): nothing is left"
  exit
fi
if [[ $mode == end-* ]]; then
  # Not at once: those that end in order have their time, from "started" on.
  after_ms=$(($(date +%s%3N) - $(date -r "$folder/rank-2.started" +%s%3N)))
  if [ $after_ms -lt $deadline_ms ]; then fail "ended after $after_ms ms"; fi
  for file in "$folder"/rank-*.pid; do
    if ours "$(cat "$file")"; then fail "$(basename "$file" .pid) is still there after the job"; fi
  done
  echo "ok ($case_name): exit code $code, after $took s"
  exit
fi
told=0
for rank in 0 2; do
  if grep -q "^rank $rank exits with $ranks_code: " "$log"; then
    told=$((told + 1))
  elif [ "$mode" != data-error ] || grep -q "^rank $rank exits with " "$log"; then
    # mpirun kills what is left as soon as a rank calls MPI_Abort: then one may be gone before its last words.
    fail "rank $rank did not end with $ranks_code"
  fi
done
if [ "$told" -eq 0 ]; then fail "no rank that was left ended with $ranks_code"; fi
grep -q -- "$says" "$log" || fail "nobody said '$says'"
if [ "$mode" = data-error ]; then grep -q 'cut off at row 17' "$log" || fail "rank $victim did not say its error"; fi
for file in "$folder"/rank-*.pid; do
  for _ in $(seq 300); do
    ours "$(cat "$file")" || continue 2
    sleep 0.1
  done
  fail "$(basename "$file" .pid) is still there after the job"
done
echo "ok ($case_name): exit code $code, $took s after the fault"
grep '^rank ' "$log" || true
