#!/usr/bin/env bash
# Runs muffle on N ranks of this machine: launch/local.sh N run --config configs/fashion-mnist.toml --out out/fashion
# Ends with muffle's exit code (docs/reference/errors.md). A rank that a signal ended makes mpirun return 128 + the signal's number;
# that is 69 here, as on the ranks that were left. Ctrl-C, TERM and HUP become USR1, which mpirun hands on to the ranks: they
# stop with a checkpoint, and with 75. A second Ctrl-C or TERM goes to mpirun as it is, which ends the ranks at once; so does the end
# of this script, whatever ends it.
set -euo pipefail
here="$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.." && pwd)"
# shellcheck source=launch/supervise.sh
source "$here/launch/supervise.sh"

if (($# < 2)) || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: $called RANKS VERB [OPTIONS]   (muffle --help lists the verbs)" >&2
  exit 2
fi
ranks=$1
shift
muffle=${MUFFLE_BINARY:-$here/build/cpu/bin/muffle}
if [[ -z ${MUFFLE_BINARY:-} && $here == */share/muffle ]]; then muffle=${here%/share/muffle}/bin/muffle; fi
[[ -x $muffle ]] || { echo "$called: $muffle is not built; run launch/build.sh first" >&2; exit 2; }

# shellcheck source=launch/local-flags.sh
source "$here/launch/local-flags.sh"
flags=(-n "$ranks" "${quiet[@]}" "${local_flags[@]}" "${loopback[@]}")

# A job that ends in order leaves its code here, and mpirun ends with 0. It would wait twice 3 s for ranks that have gone, did one of them
# end otherwise.
exit_file=$(mktemp)
export MUFFLE_EXIT_FILE=$exit_file

may_insist=yes
# In a session of its own a terminal's Ctrl-C does not reach mpirun, which would end the ranks before they have checkpointed.
run_job setsid setpriv --pdeathsig TERM mpirun "${flags[@]}" "$muffle" "$@"
((code != 0)) || [[ ! -s $exit_file ]] || code=$(<"$exit_file")
exit "$code"
