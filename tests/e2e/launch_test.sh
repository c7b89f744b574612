#!/usr/bin/env bash
# What launch/local.sh and launch/mpirun.sh promise, with a double of mpirun that notes its arguments and the signals it gets: which
# signals reach it, the exit codes, the time limit, the flags. resume_test.sh and hosts_test.sh use the real one.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../launch" && pwd)

mkdir "$work/bin"
export PATH=$work/bin:$PATH WORK=$work MUFFLE_BINARY=$work/muffle
printf '#!/bin/sh\n' >"$MUFFLE_BINARY"
# Ends with ENDS at once, or waits: then USR1 ends it with 75, unless it is DEAF to that, and INT or TERM with 1, as mpirun.
cat >"$work/bin/mpirun" <<'END'
#!/usr/bin/env python3
import os, signal, sys
signals = {signal.SIGUSR1, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # they queue: one after the other
def note(name, text):
    with open(os.environ["WORK"] + "/" + name, "a") as f: f.write(text + "\n")
note("arguments", "\n".join(sys.argv[1:]))
if "ENDS" in os.environ: sys.exit(int(os.environ["ENDS"]))
note("ready", "")
while got := signal.sigtimedwait(signals, 20):
    number = got.si_signo
    note("signals", signal.Signals(number).name)
    if number == signal.SIGUSR1 and "DEAF" not in os.environ: sys.exit(75)
    if number in (signal.SIGINT, signal.SIGTERM): sys.exit(1)
sys.exit(99)
END
chmod +x "$MUFFLE_BINARY" "$work/bin/mpirun"

local_sh=("$launch/local.sh" 3)
mpirun_sh=("$launch/mpirun.sh" -n 3)

# begin COMMAND...: starts it as a shell with a terminal does, in a process group of its own, until it waits for the double.
begin() {
  rm -f "$work"/{arguments,signals,ready}
  set -m
  "$@" </dev/null >"$work/log" 2>&1 &
  running=$!
  set +m
  for _ in $(seq 200); do
    # USR1, signal 10, is caught: the last of the traps is set.
    if [[ -e $work/ready ]] && ((0x0$(sed -n 's/^SigCgt:\s*//p' "/proc/$running/status") & 1 << 9)); then return; fi
    sleep 0.05
  done
  cat "$work/log" >&2
  fail "$* did not start"
}

# ends_with CODE SIGNALS WHAT: the running command ends so, and these are the signals that the double got, each named once.
ends_with() {
  local rc=0 got
  wait "$running" || rc=$?
  got=$( (sort -u "$work/signals" 2>/dev/null || true) | tr '\n' ' ')
  check "$3: exit code $rc is $1, mpirun got ${got:-no signal }" test "$rc $got" = "$1 $2"
}

for script in local mpirun; do
  command=("${local_sh[@]}" doctor)
  if [[ $script == mpirun ]]; then command=("${mpirun_sh[@]}" -- doctor); fi
  for signal in TERM INT HUP USR1; do
    begin "${command[@]}"
    kill -"$signal" "$running"
    ends_with 75 "SIGUSR1 " "$script.sh, SIG$signal"
  done
  begin "${command[@]}"
  kill -INT -- "-$running"
  ends_with 75 "SIGUSR1 " "$script.sh, Ctrl-C on a terminal, which the whole process group gets"
  for code in 0 65 69 75 137 138; do
    rc=0 expected=$code
    ((code != 137)) || expected=69
    ((code != 138)) || expected=75 # ended by SIGUSR1 before it could stop in order
    ENDS=$code "${command[@]}" >"$work/log" 2>&1 || rc=$?
    check "$script.sh, mpirun ends with $code: exit code $rc is $expected" test "$rc" = "$expected"
  done
  rc=0
  MUFFLE_BINARY=$work/none "${command[@]}" >"$work/log" 2>&1 || rc=$?
  check "$script.sh, muffle is not built" test "$rc" = 2
done

# Who insists: not he who sends a signal twice at once, as timeout(1) does.
export DEAF=1
begin "${local_sh[@]}" doctor
kill -TERM "$running"
sleep 0.2
kill -TERM "$running"
sleep 3
check "local.sh, two signals at once: asked only" test "$(sort -u "$work/signals")" = SIGUSR1
kill -TERM "$running"
ends_with 1 "SIGTERM SIGUSR1 " "local.sh, SIGTERM again, seconds later"

begin "${local_sh[@]}" doctor
kill -KILL "$running"
wait "$running" || true
for _ in $(seq 100); do
  if grep -qs SIGTERM "$work/signals"; then break; fi
  sleep 0.05
done
check "local.sh, SIGKILL: mpirun is told by the kernel" grep -qs SIGTERM "$work/signals"

# The time limit of mpirun.sh, and what happens to ranks that do not leave.
begin "${mpirun_sh[@]}" --grace 1 --limit 0 -- doctor
kill -TERM "$running"
ends_with 69 "SIGUSR1 " "mpirun.sh, still there after the grace"
check "it says so" grep -q 'exit code 69' "$work/log"
unset DEAF
begin "${mpirun_sh[@]}" --limit 6s -- doctor
ends_with 75 "SIGUSR1 " "mpirun.sh, the time limit"

# Flags.
has() { # WHAT ARGUMENT...: the double got these arguments, one after the other
  local what=$1 all
  shift
  all=$(printf '%s\n' "$@")
  check "$what" test "${arguments/$'\n'"$all"$'\n'/}" != "$arguments"
}
MUFFLE_LOG=debug ENDS=0 "${mpirun_sh[@]}" --hostfile 'my hosts' --threads 4 --network 10.1.0.0/16 -- run --out 'a b' >"$work/log" 2>&1
arguments=$'\n'$(<"$work/arguments")$'\n'
has "mpirun.sh: four cores a rank" --map-by slot:PE=4
has "mpirun.sh: bound" --bind-to core
has "mpirun.sh: four threads" -x OMP_NUM_THREADS=4
has "mpirun.sh: keepalives after 5 s" --mca oob_tcp_keepalive_time 5
has "mpirun.sh: every 2 s" --mca oob_tcp_keepalive_intvl 2
has "mpirun.sh: three times" --mca oob_tcp_keepalive_probes 3
has "mpirun.sh: the network of MPI" --mca btl_tcp_if_include 10.1.0.0/16
has "mpirun.sh: the network of mpirun" --mca oob_tcp_if_include 10.1.0.0/16
has "mpirun.sh: muffle's variables go along" -x MUFFLE_LOG
has "mpirun.sh: mpirun's own options, muffle and its options" -n 3 --hostfile 'my hosts' "$MUFFLE_BINARY" run --out 'a b'
rm "$work/arguments"
ENDS=0 "${local_sh[@]}" run --out 'a b' >"$work/log" 2>&1
arguments=$'\n'$(<"$work/arguments")$'\n'
has "local.sh: three ranks" -n 3
has "local.sh: not bound" --bind-to none
has "local.sh: muffle and its options" "$MUFFLE_BINARY" run --out 'a b'

# refused MESSAGE COMMAND...: ends with 2 and says so; mpirun is not started.
refused() {
  local says=$1 rc=0
  shift
  rm -f "$work/arguments"
  ENDS=0 "$@" >"$work/log" 2>&1 || rc=$?
  check "${*##*/}: exit code $rc is 2" test "$rc" = 2
  check "and says: $says" grep -q -- "$says" "$work/log"
  check "and starts nothing" test ! -e "$work/arguments"
}
refused "--limit is a time" "${mpirun_sh[@]}" --limit abc -- doctor
refused "--limit is a time" "${mpirun_sh[@]}" --limit 5w -- doctor
refused "--grace is a number" "${mpirun_sh[@]}" --grace 0 -- doctor
refused "--threads is a number" "${mpirun_sh[@]}" --threads many -- doctor
refused "launch/mpirun.sh -n 8" "${mpirun_sh[@]}" --threads
refused "launch/mpirun.sh -n 8" "${mpirun_sh[@]}" doctor
refused "usage: local.sh RANKS" "$launch/local.sh" 0 doctor
refused "usage: local.sh RANKS" "$launch/local.sh" 2
finish
