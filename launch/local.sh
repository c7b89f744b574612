#!/usr/bin/env bash
# Runs muffle on N ranks of this machine: launch/local.sh N run --config configs/fashion-mnist.toml --out out/fashion
# Ends with muffle's exit code (docs/errors.md). A rank that a signal ended makes mpirun return 128 + the signal's number;
# that is 69 here, as on the ranks that were left.
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

# mpirun runs beside this script, so that a signal to the script reaches it at once.
told=
# shellcheck disable=SC2317  # called by the traps
forward() {
  told=$1
  kill -"$1" "$job" 2>/dev/null || true
}
mpirun "${flags[@]}" "$muffle" "$@" <&0 &
job=$!
for signal in INT TERM HUP USR1 USR2; do
  # shellcheck disable=SC2064
  trap "forward $signal" "$signal"
done
while :; do
  code=0
  wait "$job" || code=$?
  kill -0 "$job" 2>/dev/null || break # a signal ends wait, but not mpirun
done

if ((code > 128 && code <= 192)) && [[ -z $told ]]; then
  echo "${0##*/}: a rank was ended by SIG$(kill -l $((code - 128))); exit code 69 (a rank is missing)" >&2
  exit 69
fi
exit "$code"
