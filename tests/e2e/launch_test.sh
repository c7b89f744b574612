#!/usr/bin/env bash
# What launch/local.sh and launch/mpirun.sh promise, with a double of mpirun that notes its arguments and the signals it gets: which
# signals reach it, the exit codes, the time limit, the flags. resume_test.sh and hosts_test.sh use the real one.
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../launch" && pwd)

mkdir "$work/bin"
export PATH=$work/bin:$PATH WORK=$work MUFFLE_BINARY=$work/muffle
printf '#!/bin/sh\n' >"$MUFFLE_BINARY"
# Leaves LEAVES as the job's code. Ends with ENDS at once, or waits: then USR1 ends it with 75, unless it is DEAF to that, or LOSES the first, as before it has started
# the ranks; and INT or TERM with 1, as mpirun.
cat >"$work/bin/mpirun" <<'END'
#!/usr/bin/env python3
import os, signal, sys
signals = {signal.SIGUSR1, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # they queue: one after the other
def note(name, text):
    with open(os.environ["WORK"] + "/" + name, "a") as f: f.write(text + "\n")
note("arguments", "\n".join(sys.argv[1:]))
note("pids", f"{os.getpid()} {os.getppid()}")
if "LEAVES" in os.environ:
    with open(os.environ["MUFFLE_EXIT_FILE"], "w") as f: f.write(os.environ["LEAVES"] + "\n")
if "ENDS" in os.environ: sys.exit(int(os.environ["ENDS"]))
note("ready", "")
while got := signal.sigtimedwait(signals, 120):
    number = got.si_signo
    note("signals", signal.Signals(number).name)
    if number == signal.SIGUSR1 and os.environ.pop("LOSES", "") == "" and "DEAF" not in os.environ: sys.exit(75)
    if number in (signal.SIGINT, signal.SIGTERM): sys.exit(1)
sys.exit(99)
END
# What both scripts call before they start mpirun; takes its time where the file `slow` is.
cat >"$work/bin/id" <<'END'
#!/bin/sh
if [ -e "$WORK/slow" ]; then mv "$WORK/slow" "$WORK/early"; while [ -e "$WORK/early" ]; do sleep 0.05; done; fi
exec /usr/bin/id "$@"
END
# What they end the job's session with, SIGKILL at last: where the file `note-first` is, not before the double has noted a signal.
cat >"$work/bin/pkill" <<'END'
#!/bin/bash
if [[ -e $WORK/note-first ]]; then for _ in {1..1200}; do [[ -s $WORK/signals ]] && break; sleep 0.05; done; fi
exec /usr/bin/pkill "$@"
END
cat >"$work/bin/ompi_info" <<'END'
#!/bin/sh
echo "Open MPI v${OPEN_MPI:-4.1.4}"
END
chmod +x "$MUFFLE_BINARY" "$work"/bin/*

local_sh=("$launch/local.sh" 3)
mpirun_sh=("$launch/mpirun.sh" -n 3)

# background COMMAND...: starts it as a shell with a terminal does, in a process group of its own.
background() {
  rm -f "$work"/{arguments,signals,ready,pids}
  set -m
  "$@" </dev/null >"$work/log" 2>&1 &
  running=$!
  set +m
}

# USR1, signal 10, is caught: the traps are set. Not those of this shell, which its child has until it is the script.
listens() {
  grep -qaE '/launch/(local|mpirun)\.sh' "/proc/$running/cmdline" && ((0x0$(sed -n 's/^SigCgt:\s*//p' "/proc/$running/status") & 1 << 9))
}

# begin COMMAND...: starts it, until it waits for the double.
waits() { [[ -e $work/ready ]] && listens; }
begin() {
  background "$@"
  within 60 waits || { cat "$work/log" >&2; fail "$* did not start"; }
}
gone() { ! kill -0 "$@" 2>/dev/null; }

# ends_with CODE SIGNALS WHAT: the running command ends so, and these are the signals that the double got, each named once.
ends_with() {
  local rc=0 got
  wait "$running" || rc=$?
  got=$( (sort -u "$work/signals" 2>/dev/null || true) | tr '\n' ' ')
  got=${got:-no signal }
  check "$3: exit code $rc is $1, mpirun got $got" test "$rc $got" = "$1 $2"
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
    expected=$code
    ((code != 137)) || expected=69
    ((code != 138)) || expected=75 # ended by SIGUSR1 before it could stop in order
    ENDS=$code ends "$expected" "${command[@]}"
  done
  MUFFLE_BINARY=$work/none ends 2 "${command[@]}"
done

# The code of a job that ended in order is in a file, unless mpirun knows better; the file does not stay.
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
LEAVES=78 ENDS=0 ends 78 "${local_sh[@]}" doctor
LEAVES=78 ENDS=137 ends 69 "${local_sh[@]}" doctor
check "no file is left" test -z "$(ls "$TMPDIR")"
unset TMPDIR

# Who insists: not he who sends a signal twice at once, as timeout(1) does.
export DEAF=1
begin "${local_sh[@]}" doctor
kill -TERM "$running"
sleep 0.02
kill -TERM "$running"
within 60 test -s "$work/signals" || fail "local.sh hands nothing on"
sleep 3 # the seconds that it takes to insist
check "local.sh, two signals at once: asked only" test "$(sort -u "$work/signals")" = SIGUSR1
kill -TERM "$running"
ends_with 1 "SIGTERM SIGUSR1 " "local.sh, SIGTERM again, seconds later"

# killed SIGNALS WHAT: the running script is killed; the double gets these signals, and neither it nor what started it is left.
killed() {
  local pids
  read -ra pids <"$work/pids"
  kill -KILL "$running"
  wait "$running" || true
  check "$2: nobody is left" within 60 gone "${pids[@]}"
  check "$2: mpirun got $1" test "$(sort -u "$work/signals" | tr '\n' ' ')" = "$1 "
}
begin "${local_sh[@]}" doctor
killed SIGTERM "local.sh, SIGKILL"
begin "${mpirun_sh[@]}" --grace 1 --limit 0 -- doctor
killed SIGUSR1 "mpirun.sh, SIGKILL, and a job that does not stop"
unset DEAF
begin "${mpirun_sh[@]}" -- doctor
killed SIGUSR1 "mpirun.sh, SIGKILL"
begin "${mpirun_sh[@]}" -- doctor
read -r mpirun_pid timeout_pid <"$work/pids"
touch "$work/note-first"
kill -KILL "$timeout_pid"
ends_with 69 "SIGTERM " "mpirun.sh, SIGKILL of its timeout"
rm "$work/note-first"
check "mpirun is gone" within 60 gone "$mpirun_pid"
export DEAF=1

# The time limit of mpirun.sh, and what happens to ranks that do not leave.
begin "${mpirun_sh[@]}" --grace 1 --limit 0 -- doctor
kill -TERM "$running"
ends_with 69 "SIGUSR1 " "mpirun.sh, still there after the grace"
check "it says so" grep -q 'exit code 69' "$work/log"
unset DEAF
begin "${mpirun_sh[@]}" --limit 6s -- doctor
ends_with 75 "SIGUSR1 " "mpirun.sh, the time limit"

# Signals that come early: before mpirun, in its first moments, and before it has ranks to hand them on to.
for script in local mpirun; do
  command=("${local_sh[@]}" doctor)
  if [[ $script == mpirun ]]; then command=("${mpirun_sh[@]}" --limit 20s -- doctor); fi
  touch "$work/slow"
  background "${command[@]}"
  within 60 test -e "$work/early" || fail "$script.sh does not begin"
  kill -TERM "$running"
  rm "$work/early"
  ends_with 75 "no signal " "$script.sh, SIGTERM before it starts mpirun"
  check "and starts nothing" test ! -e "$work/arguments"
  for after in 0 0.005 0.01 0.02 0.03 0.04 0.06 0.1; do
    background "${command[@]}"
    until listens; do :; done
    sleep "$after"
    kill -TERM -- "-$running"
    rc=0
    wait "$running" || rc=$?
    check "$script.sh, SIGTERM to its process group after $after s: exit code $rc is 75" test "$rc" = 75
  done
  export LOSES=1
  begin "${command[@]}"
  kill -TERM "$running"
  ends_with 75 "SIGUSR1 " "$script.sh, a signal that mpirun loses is sent again"
  check "once" test "$(grep -c SIGUSR1 "$work/signals")" = 2
  unset LOSES
done

# Flags.
given() { # COMMAND...: what the double got is in `arguments`
  rm -f "$work/arguments"
  ENDS=0 ends 0 "$@"
  arguments=$'\n'$(<"$work/arguments")$'\n'
}
has() { # ARGUMENT...: the double got these, one after the other
  local all
  all=$(printf '%s\n' "$@")
  check "mpirun gets $*" test "${arguments/$'\n'"$all"$'\n'/}" != "$arguments"
}
MUFFLE_LOG=debug given "${mpirun_sh[@]}" --hostfile 'my hosts' --threads 4 --network 10.1.0.0/16 -- run --out 'a b'
has --map-by slot:PE=4 # four cores a rank
has --bind-to core
has -x OMP_NUM_THREADS=4
has --mca oob_tcp_keepalive_time 5
has --mca oob_tcp_keepalive_intvl 2
has --mca oob_tcp_keepalive_probes 3
has --mca btl_tcp_if_include 10.1.0.0/16 # MPI's network, and mpirun's
has --mca oob_tcp_if_include 10.1.0.0/16
has -x MUFFLE_LOG
has -n 3 --hostfile 'my hosts' "$MUFFLE_BINARY" run --out 'a b'
given "${mpirun_sh[@]}" --bind-to none -- doctor # whoever binds ranks binds them alone
has --bind-to none "$MUFFLE_BINARY" doctor
check "once" test "$(grep -cE '^--(bind-to|map-by)$' "$work/arguments")" = 1
OPEN_MPI=5.0.10 given "${mpirun_sh[@]}" --any-mpirun -- doctor
has doctor
given "${local_sh[@]}" run --out 'a b'
has -n 3
has --bind-to none
has "$MUFFLE_BINARY" run --out 'a b'

# refused MESSAGE COMMAND...: ends with 2 and says so; mpirun is not started.
refused() {
  rm -f "$work/arguments"
  ENDS=0 says 2 "$@"
  check "and starts nothing" test ! -e "$work/arguments"
}
refused "--limit is a time" "${mpirun_sh[@]}" --limit abc -- doctor
refused "--limit is a time" "${mpirun_sh[@]}" --limit 5w -- doctor
refused "--grace is a number" "${mpirun_sh[@]}" --grace 0 -- doctor
refused "--threads is a number" "${mpirun_sh[@]}" --threads many -- doctor
refused "launch/mpirun.sh -n 8" "${mpirun_sh[@]}" --threads
refused "launch/mpirun.sh -n 8" "${mpirun_sh[@]}" doctor
OPEN_MPI=5.0.10 refused "Open MPI v5.0.10: its mpirun ends with 0 when a host is lost" "${mpirun_sh[@]}" -- doctor
refused "usage: launch/local.sh RANKS" "$launch/local.sh" 0 doctor
refused "usage: launch/local.sh RANKS" "$launch/local.sh" 2
finish
