#!/usr/bin/env bash
# Runs muffle on N ranks of this machine: launch/local.sh N run --config configs/fashion-mnist.toml --out out/fashion
# Ends with muffle's exit code (docs/errors.md). A rank that a signal ended makes mpirun return 128 + the signal's number;
# that is 69 here, as on the ranks that were left. Ctrl-C, TERM and HUP become USR1, which mpirun hands on to the ranks: they
# stop with a checkpoint, and with 75. A second Ctrl-C or TERM goes to mpirun as it is, which ends the ranks at once; so does the end
# of this script, whatever ends it.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

if (($# < 2)) || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: ${0##*/} RANKS VERB [OPTIONS]   (muffle --help lists the verbs)" >&2
  exit 2
fi
ranks=$1
shift
muffle=${MUFFLE_BINARY:-$here/build/cpu/bin/muffle}
[[ -x $muffle ]] || { echo "${0##*/}: $muffle is not built; run launch/build.sh first" >&2; exit 2; }

# shellcheck source=launch/local-flags.sh
source "$here/launch/local-flags.sh"
flags=(-n "$ranks" "${quiet[@]}" "${local_flags[@]}" "${loopback[@]}")

job='' asked='' insisted=
# shellcheck disable=SC2317  # called by the traps
stop() {
  local signal=USR1
  if [[ -z $asked ]]; then
    asked=$SECONDS
  elif [[ $1 == INT || $1 == TERM ]] && ((SECONDS - asked > 1)); then # not at once: timeout(1) sends each signal twice
    signal=$1 insisted=yes
  fi
  [[ -z $job ]] || kill -"$signal" "$job" 2>/dev/null || true
}
for signal in INT TERM HUP USR1 USR2; do
  # shellcheck disable=SC2064
  trap "stop $signal" "$signal"
done
# In a session of its own a terminal's Ctrl-C does not reach mpirun, which would end the ranks before they have checkpointed.
setsid setpriv --pdeathsig TERM mpirun "${flags[@]}" "$muffle" "$@" <&0 &
job=$!
[[ -z $asked ]] || kill -USR1 "$job" 2>/dev/null || true # it came before there was a job
while kill -0 "$job" 2>/dev/null; do wait "$job" || true; done # a signal ends wait, but not mpirun
code=0
wait "$job" || code=$?

if ((code == 128 + 10)); then # SIGUSR1: before muffle was ready for it, or in a verb that needs no stopping
  echo "${0##*/}: ended by the signal; exit code 75 (run the same command again)" >&2
  exit 75
fi
if ((code > 128 && code <= 192)) && [[ -z $insisted ]]; then
  echo "${0##*/}: a rank was ended by SIG$(kill -l $((code - 128))); exit code 69 (a rank is missing)" >&2
  exit 69
fi
exit "$code"
