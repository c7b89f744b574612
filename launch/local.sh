#!/usr/bin/env bash
# Runs muffle on N ranks of this machine: launch/local.sh N run --config configs/fashion-mnist.toml --out out/fashion
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

# Ranks share this machine: shared memory and loopback only, no binding (muffle divides the cores among its ranks).
flags=(-n "$ranks" --bind-to none --oversubscribe
  --mca btl "self,vader,tcp" --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo --mca mpi_yield_when_idle 1)
(($(id -u) == 0)) && flags+=(--allow-run-as-root)
exec mpirun "${flags[@]}" "$muffle" "$@"
