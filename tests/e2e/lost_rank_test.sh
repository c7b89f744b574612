#!/usr/bin/env bash
# A rank that is killed or stopped in the middle of the embedding: nobody hangs, nothing is released.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# lose SIGNAL 'CODES' [mpiexec flags]: starts a release on 2 ranks, sends SIGNAL to rank 1 while it embeds.
lose() {
  local signal=$1 codes=$2 rc=0 pid=
  shift 2
  local out=$work/$signal-$RANDOM
  timeout -k 5 120 "$MPIEXEC" "${mpi_flags[@]}" "$@" -n 2 "$MUFFLE" release "${small[@]}" --set features.count=20000 \
    --set runtime.deadline_s=5 --out "$out" >"$work/log" 2>&1 &
  local job=$!
  for _ in $(seq 600); do
    grep -q 'embedding begins' "$out/logs/rank-1.jsonl" 2>/dev/null && break
    sleep 0.05
  done
  pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$out/logs/rank-1.jsonl" | head -1)
  kill "-$signal" "$pid"
  local start=$SECONDS
  wait "$job" || rc=$?
  kill -KILL "$pid" 2>/dev/null || true  # a stopped rank that outlived its job
  if [[ " $codes " == *" $rc "* ]]; then echo "ok: SIG$signal: exit $rc after $((SECONDS - start)) s"; else
    fail "SIG$signal: exit $rc, not one of $codes"
    sed 's/^/    /' "$work/log" >&2
  fi
  check "SIG$signal: ended in time" test $((SECONDS - start)) -lt 60
  check "SIG$signal: nothing was released" test ! -e "$out/release.mfl"
  if compgen -G "$out/.*.tmp.*" >/dev/null; then fail "SIG$signal: a temporary file was left"; fi
}

lose KILL "137 69"
# With recovery on, mpiexec lets the survivors be and hides their exit codes: what they say must come from our own deadline.
lose KILL "0 69 137" --mca orte_enable_recovery 1
check "the survivor names the missing rank" grep -qiE 'rank 1|missing' "$work/log"
lose STOP "69"
check "the survivor names the stopped rank" grep -qiE 'rank 1|missing' "$work/log"
finish
