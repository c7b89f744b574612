# shellcheck shell=bash disable=SC2034
# How launch/local.sh and launch/mpirun.sh start mpirun, tell it to stop and end; sourced first of all, so that a signal finds its trap.
#
#   called               what its user calls the script: installed, it is a command of the prefix
#   run_job COMMAND...   runs mpirun until it ends; its exit code, as muffle's (docs/reference/errors.md), in `code`
#
# TERM, INT, HUP, USR1 and USR2 become USR1, which mpirun hands on to the ranks: they stop with a checkpoint, and with 75. A signal that
# comes before mpirun is started ends the script with 75. One that comes before mpirun has started the ranks is lost there, without a
# word: so it is sent again, after 1, 3, 7, ... s. Where `may_insist` is set, a second INT or TERM goes to the job as it is. Whatever ends
# the script, SIGKILL too, ends the job: COMMAND is under setsid, which makes it a session of its own, and setpriv --pdeathsig.

# shellcheck disable=SC2154  # the script's `here`: the checkout, or PREFIX/share/muffle, wherever the prefix lies now
called=${0##*/}
if [[ $here == */share/muffle ]]; then called=muffle-${called%.sh}; else called=launch/$called; fi

job='' asked='' again='' insisted='' may_insist='' exit_file=''
# shellcheck disable=SC2317  # called by the traps
stop() {
  local signal=USR1
  if [[ -z $asked ]]; then
    asked=$SECONDS again=$((SECONDS + 1))
  elif [[ -n $may_insist && ($1 == INT || $1 == TERM) ]] && ((SECONDS - asked > 1)); then # not at once: timeout(1) sends each signal twice
    signal=$1 insisted=yes
  fi
  [[ -z $job ]] || kill -"$signal" "$job" 2>/dev/null || true
}
for signal in INT TERM HUP USR1 USR2; do
  # shellcheck disable=SC2064
  trap "stop $signal" "$signal"
done

# What the scripts ask of the machine before they start mpirun may be ended by the same signal, and set -e ends the script then.
# `exit_file`: what a script removes at its end.
trap '[[ -z $exit_file ]] || rm -f -- "$exit_file" || true; [[ -z $asked || -n $job ]] || exit 75' EXIT

run_job() {
  if [[ -n $asked ]]; then
    echo "$called: told to stop before it began; exit code 75 (run the same command again)" >&2
    exit 75
  fi
  "$@" <&0 &
  job=$!
  while kill -0 "$job" 2>/dev/null; do
    if [[ -z $asked ]]; then
      wait "$job" || true # a signal ends wait, but not the job
      continue
    fi
    sleep 0.2 >/dev/null 2>&1 &
    wait $! || true
    if [[ -z $insisted ]] && ((SECONDS >= again)); then
      kill -USR1 "$job" 2>/dev/null || true
      again=$((SECONDS + SECONDS - asked + 1))
    fi
  done
  trap '' INT TERM HUP USR1 USR2 # too late: it would only hide the code
  code=0
  wait "$job" || code=$?
  if ((code > 128)); then pkill -KILL --session "$job" || true; fi # ranks outlive an mpirun that was killed
  # By USR1: before muffle was ready for it, or in a verb that needs no stopping. By what the script was told: before mpirun was ready
  # (-1: it ended in the very moment in which the signal ended bash's wait, which then has lost its code).
  if ((code == 128 + 10)) || [[ -n $asked && -z $insisted && $code =~ ^(129|130|143|-1)$ ]]; then
    echo "$called: ended by the signal; exit code 75 (run the same command again)" >&2
    code=75
  elif ((code > 128 && code <= 192)) && [[ -z $insisted ]]; then
    echo "$called: a rank was ended by SIG$(kill -l $((code - 128))); exit code 69 (a rank is missing)" >&2
    code=69
  fi
}
