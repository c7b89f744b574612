#!/usr/bin/env bash
# Runs muffle over several machines with OpenMPI's mpirun; see docs/cluster.md. Everything before "--" but the options
# below goes to mpirun as it is.
#
#   launch/mpirun.sh -n 8 --hostfile cluster/hostfile.example --threads 4 -- run --config configs/fashion-mnist.toml --out out
#
#   --threads T     cores bound to each rank, and OMP_NUM_THREADS (1)
#   --network CIDR  only this network, such as 10.1.0.0/16: needed where machines have several (MUFFLE_NETWORK)
#   --limit TIME    after so long (as in timeout(1), such as 90m) muffle is told to checkpoint and leave (7d; 0: never)
#   --grace S       how many seconds it may take over that, before everything is killed (60)
#
# TERM, INT, HUP and the time limit become USR1, which mpirun hands on to every rank; a TERM would end mpirun's own daemons before
# the ranks have checkpointed. Exit code: muffle's (75: stopped with a checkpoint, run it again); 69 when a rank or a host was
# lost, or was still there after the grace.
set -euo pipefail

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
refuse() {
  echo "${0##*/}: $*" >&2
  exit 2
}

threads=1 network=${MUFFLE_NETWORK:-} limit=7d grace=60 mpi=()
while (($# > 0)) && [[ $1 != -- ]]; do
  case $1 in
    --threads | --network | --limit | --grace)
      (($# >= 2)) || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    -h | --help) usage ;;
    *)
      mpi+=("$1")
      shift
      ;;
  esac
done
(($# >= 2)) || usage  # "--" and a verb
shift
[[ $threads =~ ^[1-9][0-9]*$ ]] || refuse "--threads is a number of cores, not '$threads'"
[[ $grace =~ ^[1-9][0-9]*$ ]] || refuse "--grace is a number of seconds above 0, not '$grace'"
[[ $limit =~ ^[0-9]+(\.[0-9]+)?[smhd]?$ ]] || refuse "--limit is a time such as 90m (s, m, h or d; 0: never), not '$limit'"
muffle=${MUFFLE_BINARY:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/cpu/bin/muffle}
[[ -x $muffle ]] || refuse "$muffle is not built; run launch/build.sh, or set MUFFLE_BINARY"

flags=(
  --map-by "slot:PE=$threads" --bind-to core -x "OMP_NUM_THREADS=$threads"
  # A cut link is found after 5 + 3 x 2 s; OpenMPI's own values make that 8 minutes.
  --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3
)
[[ -n $network ]] && flags+=(--mca btl_tcp_if_include "$network" --mca oob_tcp_if_include "$network")
while IFS= read -r name; do flags+=(-x "$name"); done < <(compgen -e MUFFLE_ || true)
(($(id -u) == 0)) && flags+=(--allow-run-as-root)

timeout --signal=USR1 --kill-after="$grace" --preserve-status "$limit" mpirun "${flags[@]}" "${mpi[@]}" "$muffle" "$@" &
job=$!
trap 'kill -USR1 "$job" 2>/dev/null || true' TERM INT HUP USR1
while kill -0 "$job" 2>/dev/null; do wait "$job" || true; done  # a signal ends wait, but not the job
code=0
wait "$job" || code=$?
if ((code == 128 + 10)); then # SIGUSR1: before muffle was ready for it, or in a verb that needs no stopping
  echo "${0##*/}: ended by the signal; exit code 75 (run the same command again)" >&2
  exit 75
fi
# Above 128: a rank was killed (128 + its signal), or one of mpirun's daemons was lost (205).
if ((code > 128)); then
  echo "${0##*/}: mpirun ended with $code: a rank or a host was lost; exit code 69 (a rank is missing)" >&2
  exit 69
fi
exit "$code"
