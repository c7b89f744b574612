#!/usr/bin/env bash
# Breaks jobs at random and looks at how they end and go on: tests/chaos/random_kills.sh [N, default 10] [SEED]
# Each of N jobs is hit while it embeds or trains: one rank is killed (SIGKILL), stopped (SIGSTOP), or, where this is root
# and there are network namespaces, the host of one rank is cut off. Faults are dealt in turn: ten jobs see each of them in
# either phase. Rank and moment are drawn from SEED. It must end within the deadline, with the right exit
# code, and leave no rank behind: none once it has ended, or, where mpirun could not reach them, by the ranks' own deadline. The
# same command again must end with the same parameters as a job that was never interrupted, and with one charge in the ledger.
# Needs MUFFLE_FAULTY (the command as tests build it, which says by a file that a rank is in the phase) and MPIEXEC. DEADLINE_S (default 4) is the jobs' runtime.deadline_s: raise it on a busy machine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${MUFFLE_FAULTY:=$here/../../build/cpu/faulty/bin/muffle_faulty}" "${MPIEXEC:=mpiexec}"
MUFFLE=$(readlink -f "$MUFFLE_FAULTY")
readonly kills=${1:-10} seed=${2:-$RANDOM}
readonly deadline=${DEADLINE_S:-4}
# Beyond the deadline: mpirun ends the others (it waits for a stopped rank), and a busy machine.
readonly margin=60
# Over several hosts mpirun finds a cut link by TCP keepalive (5 + 3 x 2 s), and hangs if our own deadline is earlier.
readonly cut_deadline=40
# After mpirun, its daemons on the other hosts have 3 s to end their ranks (odls_base_sigkill_timeout), and a busy machine more.
readonly daemons_ms=30000
RANDOM=$seed

work=$(mktemp -d)
FEATURES=${FEATURES:-12000} STEPS=${STEPS:-220} # half a second of embedding, more than one of training, on 2 cores
# shellcheck source=tests/chaos/job.sh
source "$here/job.sh"
# shellcheck source=tests/e2e/hosts/net.sh
source "$here/../e2e/hosts/net.sh"
clean_up() {
  hosts_down
  if [[ -n ${KEEP:-} ]]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap 'clean_up || true' EXIT

hosts=
if [[ $(id -u) == 0 && -z ${NO_CUTS:-} ]] && hosts_up "$ranks" 2>"$work/hosts.log"; then hosts=yes; fi

deadline_of() { [[ $1 == CUT ]] && echo "$cut_deadline" || echo "$deadline"; }

# start OUT FAULT STEP VICTIM: the job in the background, its process in `mpi`; the victim waits at that step for a file to be removed.
start() {
  local run=("$MPIEXEC" "${local_flags[@]}" -x MUFFLE_KILL_POINT -x MUFFLE_KILL_RANK -x MUFFLE_WAIT_FILE)
  if [[ $2 == CUT ]]; then
    run=("$net_folder/on-host" "$(host 1)" "${run[@]}" --mca plm rsh --mca plm_rsh_agent "$net_folder/rsh" --mca btl "tcp,self" --mca pml ob1
      --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 --mca oob_tcp_keepalive_time 5
      --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3 --host "$(host_list "$ranks")")
  else
    run+=("${loopback[@]}")
  fi
  job "$1" --set "runtime.deadline_s=$(deadline_of "$2")"
  MUFFLE_KILL_POINT=$3:wait:1 MUFFLE_KILL_RANK=$4 MUFFLE_WAIT_FILE=$1.wait "${run[@]}" -n "$ranks" "$MUFFLE" "${args[@]}" >"$1.log" 2>&1 &
  mpi=$!
}

# whole OUT LOG ARGS...: the job again, to its end.
whole() {
  job "$1" "${@:3}"
  timeout -k 5 300 "$MPIEXEC" "${local_flags[@]}" "${loopback[@]}" -n "$ranks" "$MUFFLE" "${args[@]}" >"$2" 2>&1
}

now_ms() { date +%s%3N; }

failures=0 done=0 late=0 once=0 in_window=0
declare -A codes=() hits=() slowest=()
problem() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
  broken=yes
}

# hit OUT PHASE FAULT VICTIM: breaks the job once it is in the phase; at the last try the victim waits for that. False if it was over before.
hit() {
  local out=$1 phase=$2 fault=$3 victim=$4 pid
  local moment=$((random_ms % 900))
  if [[ $phase == embedding ]]; then moment=$((random_ms % 500)); fi
  until [[ -e $out.wait ]]; do
    kill -0 "$mpi" 2>/dev/null || return 1
    sleep 0.02
  done
  if ((try < 3)); then rm "$out.wait" && sleep "0.$(printf %03d "$moment")"; fi
  pid=$(pid_of "$victim" "$out")
  is_muffle "$pid" || { rm -f "$out.wait" && return 1; }
  if [[ $fault == CUT ]]; then cut_link $((victim + 1)); else kill "-$fault" "$pid"; fi
  rm -f "$out.wait"
}

# ended FAULT: waits for the job; its code in `rc`, when the wait began in `since`, the time it took in `took_ms`.
ended() {
  local limit
  since=$(now_ms)
  limit=$((($(deadline_of "$1") + margin) * 1000))
  rc=0
  while kill -0 "$mpi" 2>/dev/null; do
    if (($(now_ms) - since > limit)); then
      problem "$name: the job still runs after $((limit / 1000)) s"
      kill -KILL "$mpi" 2>/dev/null || true
    fi
    sleep 0.02
  done
  wait "$mpi" || rc=$?
  took_ms=$(($(now_ms) - since))
}

# phase_of OUT: what the job was doing when it ended.
phase_of() {
  if [[ -e $1/release.mfl ]]; then echo training
  elif [[ $(lines INTENT "$1") -gt 0 ]]; then echo releasing
  else echo embedding; fi
}

# none_left UNTIL HOST...: waits until no muffle runs on these hosts. False if one still does at UNTIL (in ms, as now_ms).
none_left() {
  local until=$1 h pid
  shift
  for h in "$@"; do
    for pid in $(pids_on "$h"); do
      while is_muffle "$pid"; do
        (($(now_ms) < until)) || return 1
        sleep 0.05
      done
    done
  done
}

# ended_where_cut VICTIM: the ranks of a job whose link was cut. Those on mpirun's side (host 1's) end with the job; those on the other
# side cannot be told to, and have until their own deadline. The link is still cut.
ended_where_cut() {
  local h near=() far=() far_ms
  for h in $(seq "$ranks"); do
    if (((h == $1 + 1) != ($1 == 0))); then far+=("$h"); else near+=("$h"); fi
  done
  none_left $((since + took_ms + daemons_ms)) "${near[@]}" || problem "$name: a rank is left on host ${near[*]}, on mpirun's side"
  none_left $((since + (cut_deadline + margin) * 1000)) "${far[@]}" ||
    problem "$name: a rank is left on host ${far[*]}, $((cut_deadline + margin)) s after it was cut off"
  far_ms=$(($(now_ms) - since))
  if ((far_ms > ${slowest[CUT OFF]:-0})); then slowest[CUT OFF]=$far_ms; fi
  mend_link $(($1 + 1))
  for h in $(seq "$ranks"); do
    for pid in $(pids_on "$h"); do kill -KILL "$pid" 2>/dev/null || true; done # mpirun's daemons
  done
}

allowed() {
  case $1 in
    KILL) echo "69 137" ;;     # mpirun's own code for a killed rank, or a survivor's
    STOP) if [[ -e $2/samples.json ]]; then echo "69 137"; else echo "69"; fi ;; # 137: ended by SIGKILL, as nobody waits for it any more
    CUT) echo "69 205" ;;      # mpirun's own code for a lost host
  esac
}

# One job: hit, ended, taken up again.
strike() {
  local out=$work/$1 phase=$2 fault=$3 victim=$4 r pid really=
  name="job $1 (rank $victim, $fault in $phase)"
  broken=
  start "$out" "$fault" "$([[ $phase == embedding ]] && echo embed.batch || echo train.step)" "$victim"
  if ! hit "$out" "$phase" "$fault" "$victim"; then
    wait "$mpi" || problem "$name: ended with $? before it was hit"
    late=$((late + 1))
    rm -rf "$out" "$out".*
    return
  fi
  ended "$fault"
  if [[ $fault == CUT ]]; then ended_where_cut "$victim"; else
    for r in $(seq 0 $((ranks - 1))); do
      pid=$(pid_of "$r" "$out")
      [[ -n $pid ]] || continue
      for _ in $(seq 1200); do
        is_muffle "$pid" || continue 2
        sleep 0.05
      done
      problem "$name: rank $r (process $pid) is left behind"
      kill -KILL "$pid" || true
    done
  fi
  if ((rc == 0)); then
    late=$((late + 1)) # it was done already, all but its end
    [[ $(parameters "$out") == "$expected" ]] || problem "$name: exit 0, but the job was not done"
  else
    codes[$fault:$rc]=$((${codes[$fault:$rc]:-0} + 1))
    [[ " $(allowed "$fault" "$out") " == *" $rc "* ]] || problem "$name: exit code $rc, not one of $(allowed "$fault" "$out")"
    done=$((done + 1))
    really=$(phase_of "$out")
    hits[$fault:$really]=$((${hits[$fault:$really]:-0} + 1))
    if ((took_ms > ${slowest[$fault]:-0})); then slowest[$fault]=$took_ms; fi
  fi
  local before
  before=$(lines INTENT "$out")
  whole "$out" "$out.again" --set runtime.deadline_s=120 || problem "$name: the same command again ended with $?"
  [[ $(parameters "$out") == "$expected" ]] || problem "$name: other parameters after it was taken up again"
  [[ $(lines COMMIT "$out") == 1 ]] || problem "$name: $(lines COMMIT "$out") releases in the ledger"
  if [[ $(lines INTENT "$out") == 1 ]]; then once=$((once + 1)); else
    # Hit between charge and release: that charge stays spent, as it must, and the second release is another one.
    if [[ $before == 1 && $(lines INTENT "$out") == 2 && $really != training ]]; then in_window=$((in_window + 1)); else
      problem "$name: $(lines INTENT "$out") charges in the ledger"
    fi
  fi
  if [[ -n $broken ]]; then
    sed 's/^/    /' "$out.log" "$out.again" >&2 || true
    for r in $(seq 0 $((ranks - 1))); do tail -n 5 "$out/logs/rank-$r.jsonl" >&2 || true; done
  else
    rm -rf "$out" "$out".*
  fi
}

# The job that nobody interrupts, twice: without this the comparisons below would mean nothing.
for name in reference again; do
  whole "$work/$name" "$work/$name.log" || { cat "$work/$name.log" >&2; exit 1; }
done
expected=$(parameters "$work/reference")
[[ $(parameters "$work/again") == "$expected" ]] || { echo "FAILED: two uninterrupted jobs differ" >&2; exit 1; }

deal=(KILL STOP KILL STOP)
if [[ -n $hosts ]]; then deal+=(CUT); fi
declare -A dealt=()
for ((i = 0; i < kills; ++i)); do
  # From one round of the deal to the next the phases change places.
  fault=${deal[i % ${#deal[@]}]} phase=embedding
  if (((i % ${#deal[@]} + i / ${#deal[@]}) % 2)); then phase=training; fi
  dealt[$fault:$phase]=yes
  for try in 1 2 3; do # a job that is over before it is hit is tried again
    # Drawn here, not in $(...), where RANDOM forgets its seed.
    random_ms=$RANDOM victim=$((RANDOM % ranks)) before=$done
    strike "$((i + 1)).$try" "$phase" "$fault" "$victim"
    ((done == before)) || break
  done
done

# counts NAME: "KEY xCOUNT, ..." of an associative array.
counts() {
  local -n of=$1
  local key text=
  for key in $(printf '%s\n' "${!of[@]}" | sort); do text+="$key x${of[$key]}, "; done
  echo "${text%, }"
}
slow=
for fault in KILL STOP CUT "CUT OFF"; do
  if [[ -n ${slowest[$fault]:-} ]]; then slow+="$fault ${slowest[$fault]} ms, "; fi
done
echo "chaos (seed $seed): $done of $kills jobs broken, $late over before they could be (tried again), in $SECONDS s; cuts: ${hosts:-not possible here}"
echo "  hits: $(counts hits)"
echo "  exit codes: $(counts codes)"
echo "  slowest ends after the fault: ${slow%, } (deadline $deadline s; cut: keepalives 11 s, deadline $cut_deadline s;" \
  "CUT OFF: the ranks that mpirun could not reach)"
echo "  $once releases charged once; $in_window hit between charge and release were charged again, as they must"
((failures == 0)) || { echo "$failures check(s) failed" >&2; exit 1; }
((done * 3 >= kills * 2)) || { echo "FAILED: only $done of $kills jobs were broken" >&2; exit 1; }
# Where a fault lands is a race, but for the last try.
for pair in "${!dealt[@]}"; do
  fault=${pair%:*}
  [[ -n ${slowest[$fault]:-} ]] || { echo "FAILED: no job was broken by $fault" >&2; exit 1; }
  ((kills < 50)) || [[ -n ${hits[$pair]:-} ]] || { echo "FAILED: no job was broken by $fault in ${pair#*:}" >&2; exit 1; }
done
echo "all checks passed"
